// A client of tidegate.v1 with java.net.http.WebSocket. Usage: java JavaClient.java URL [CA]
// PEER_SYMBOLS, PEER_SECONDS. The JDK has no JSON, so the envelope's members are cut out where they come first.
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class JavaClient implements WebSocket.Listener {
  static final Pattern TYPE = Pattern.compile("\"type\":\"(\\w+)\""), CHANNEL = Pattern.compile("\"channel\":\"(\\w+)\"");
  static final Pattern STREAM = Pattern.compile("\"stream\":(\\d+)"), PREV = Pattern.compile("\"prev\":(\\d+)");
  static final Pattern SEQ = Pattern.compile("\"seq\":(\\d+)"), SENT = Pattern.compile("\"sent\":(\\d+)");

  final CompletableFuture<String> problem = new CompletableFuture<>();
  final Map<String, Integer> counts = new ConcurrentSkipListMap<>();
  final Map<String, String> seqs = new HashMap<>();
  final StringBuilder text = new StringBuilder();
  long dataFrames = 0;
  CompletableFuture<WebSocket> sent = CompletableFuture.completedFuture(null);

  static String first(Pattern pattern, String message) {
    var matcher = pattern.matcher(message);
    return matcher.find() ? matcher.group(1) : null;
  }

  static String head(String message) { return message.substring(0, Math.min(200, message.length())); }

  static String subscribe() {
    var symbols = "[\"" + System.getenv("PEER_SYMBOLS").replace(",", "\",\"") + "\"]";
    var out = new StringBuilder("{\"op\":\"subscribe\",\"id\":1,\"streams\":[");
    for (var channel : new String[] {"trades", "quote", "ticker", "pulse", "sparkline"})
      out.append("{\"channel\":\"" + channel + "\",\"symbols\":" + symbols + "},");
    return out + "{\"channel\":\"book\",\"symbols\":" + symbols + ",\"depth\":25,\"interval_ms\":100},{\"channel\":\"status\"}]}";
  }

  /** Sends after what was sent before, for this WebSocket takes one message at a time. */
  synchronized void send(WebSocket socket, String message) {
    sent = sent.thenCompose(before -> socket.sendText(message, true));
    sent.whenComplete((done, error) -> { if (error != null) problem.complete("not sent: " + error); });
  }

  boolean hasEnough(double seconds) {
    return counts.getOrDefault("snapshot", 0) > 20 && counts.getOrDefault("update", 0) > 20 && counts.getOrDefault("heartbeat", 0) >= seconds / 4;
  }

  void take(WebSocket socket, String message) {
    var type = first(TYPE, message);
    counts.merge(type, 1, Integer::sum);
    var stream = first(STREAM, message);
    switch (type) {
      case "welcome" -> send(socket, subscribe());
      case "subscribed" -> { if (!message.contains("\"failed\":[]")) problem.complete(head(message)); }
      case "snapshot" -> {
        dataFrames++;
        if (!counts.containsKey("subscribed")) problem.complete("a snapshot before the subscription was answered");
        seqs.put(stream, first(SEQ, message));
      }
      case "update" -> {
        dataFrames++;
        var last = seqs.get(stream);
        if (last == null && !"trades".equals(first(CHANNEL, message))) problem.complete("update before a snapshot: " + head(message));
        if (last != null && !last.equals(first(PREV, message))) problem.complete("not after " + last + ": " + head(message));
        seqs.put(stream, first(SEQ, message));
      }
      case "heartbeat" -> {
        if (!first(SENT, message).equals("" + dataFrames)) problem.complete("received " + dataFrames + ": " + head(message));
      }
      case "notice" -> { }
      default -> problem.complete("unexpected: " + head(message));
    }
  }

  @Override public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
    text.append(data);
    if (last) {
      take(socket, text.toString());
      text.setLength(0);
    }
    socket.request(1);
    return null;
  }
  @Override public void onError(WebSocket socket, Throwable error) { problem.complete("error: " + error); }
  @Override public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
    problem.complete("closed " + code + " " + reason);
    return null;
  }

  static SSLContext trusting(String file) throws Exception {
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (var in = new FileInputStream(file)) {
      store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  public static void main(String[] arguments) throws Exception {
    var seconds = Double.parseDouble(System.getenv().getOrDefault("PEER_SECONDS", "4"));
    var builder = HttpClient.newBuilder();
    if (arguments.length > 1) builder.sslContext(trusting(arguments[1]));
    var client = new JavaClient();
    var socket = builder.build().newWebSocketBuilder().subprotocols("tidegate.v1.json").buildAsync(URI.create(arguments[0]), client).get(10, TimeUnit.SECONDS);
    if (!"tidegate.v1.json".equals(socket.getSubprotocol())) client.problem.complete("subprotocol " + socket.getSubprotocol());
    client.send(socket, "{\"op\":\"hello\",\"id\":\"h\",\"client\":\"peer\",\"heartbeat_s\":1}");
    String wrong = null;
    // A busy machine may take longer to send what must be seen.
    for (int tenth = 0; wrong == null && tenth < 400 && (tenth < seconds * 10 || !client.hasEnough(seconds)); tenth++)
      try { wrong = client.problem.get(100, TimeUnit.MILLISECONDS); } catch (TimeoutException expected) { }
    var counts = client.counts;
    if (wrong == null && !client.hasEnough(seconds)) wrong = "too little came: " + counts;
    if (wrong == null) socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get(5, TimeUnit.SECONDS);
    System.out.println("  " + (wrong != null ? wrong : System.getProperty("java.version") + ": " + counts));
    System.exit(wrong == null ? 0 : 1);
  }
}
