// Swift cannot call OpenSSL's function-like macros; each is wrapped here in an inline function of the same meaning.
#ifndef TIDEGATE_COPENSSL_SHIM_H
#define TIDEGATE_COPENSSL_SHIM_H
#include <stdint.h>
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <openssl/pem.h>

// Settings both roles share: TLS 1.2 as the lowest version (RFC 9325 section 3.1.1), no renegotiation (RFC 9325 section 3.5), no
// compression (section 3.3), buffers given back while idle, writes that may be taken in part and tried again from elsewhere.
// The end of a stream without close_notify is reported as an end: message lengths above tell a cut from an end.
static inline int copenssl_configure(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
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
static inline int copenssl_error_is_certificate_verify_failed(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
}
static inline void copenssl_free(void *bytes) { OPENSSL_free(bytes); }
static inline int copenssl_error_reason(unsigned long error) { return ERR_GET_REASON(error); }
#endif
