// Swift cannot call OpenSSL's function-like macros; each is wrapped here in an inline function of the same meaning.
#ifndef TIDEGATE_COPENSSL_SHIM_H
#define TIDEGATE_COPENSSL_SHIM_H
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <openssl/pem.h>
#endif
