// Swift cannot call OpenSSL's function-like macros; each is wrapped here in an inline function of the same meaning.
#ifndef TIDEGATE_COPENSSL_SHIM_H
#define TIDEGATE_COPENSSL_SHIM_H
#include <stdint.h>
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <openssl/pem.h>

// Settings both roles share: TLS 1.2 as the lowest version (RFC 9325 section 3.1.1), no renegotiation (RFC 9325 section
// 3.5), no compression (section 3.3), buffers given back while idle, writes that may be taken in part and tried again
// from elsewhere. Among what both sides take the server's order counts, but a client that puts ChaCha20 first gets it:
// it has no AES in hardware. Reading ahead takes a record with one recv instead of two, one for its header.
static inline int copenssl_configure(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}
static inline long copenssl_set_groups(SSL_CTX *context, const char *names) {
  return SSL_CTX_set1_groups_list(context, names);
}
static inline long copenssl_set_signature_algorithms(SSL_CTX *context, const char *names) {
  return SSL_CTX_set1_sigalgs_list(context, names);
}
static inline void copenssl_no_tickets(SSL_CTX *context) { SSL_CTX_set_options(context, SSL_OP_NO_TICKET); }
static inline void copenssl_set_certificate_list_limit(SSL_CTX *context, long bytes) {
  SSL_CTX_set_max_cert_list(context, bytes);
}
static inline long copenssl_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
  return SSL_CTX_add1_chain_cert(context, certificate);
}
static inline void copenssl_set_server_name_callback(SSL_CTX *context, int (*callback)(SSL *, int *, void *),
                                                     void *argument) {
  SSL_CTX_set_tlsext_servername_callback(context, callback);
  SSL_CTX_set_tlsext_servername_arg(context, argument);
}
// The alternative names of a certificate, which the caller frees; NULL where it has none.
static inline GENERAL_NAMES *copenssl_alternative_names(const X509 *certificate) {
  return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}
static inline int copenssl_names_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
static inline const GENERAL_NAME *copenssl_name_at(const GENERAL_NAMES *names, int index) {
  return sk_GENERAL_NAME_value(names, index);
}
static inline long copenssl_set_max_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_max_proto_version(context, version);
}
static inline long copenssl_set_session_cache_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_session_cache_mode(context, mode);
}
static inline long copenssl_set_server_name(SSL *session, const char *name) {
  return SSL_set_tlsext_host_name(session, name);
}
static inline EVP_PKEY *copenssl_make_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline long copenssl_memory_bytes(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }
static inline int copenssl_error_is_of_tls(unsigned long error) { return ERR_GET_LIB(error) == ERR_LIB_SSL; }
static inline void copenssl_free(void *bytes) { OPENSSL_free(bytes); }
static inline int copenssl_error_reason(unsigned long error) { return ERR_GET_REASON(error); }
#endif
