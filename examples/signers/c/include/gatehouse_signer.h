/*
 * Signs requests to Gatehouse and verifies its replies, as docs/signing.md specifies. No heap, no
 * global state, no libraries except <string.h>. All texts end with NUL. Bodies have a length.
 */
#ifndef GATEHOUSE_SIGNER_H
#define GATEHOUSE_SIGNER_H

#include <stddef.h>

/* 64 hexadecimal digits and NUL. MD5 uses 32 of them. */
#define GATEHOUSE_SIGNATURE_SIZE 65

typedef enum {
  GATEHOUSE_V2,        /* X-Sign-V2: HMAC-SHA-256. Use it for new clients. */
  GATEHOUSE_V1_SHA256, /* X-Sign of a client that is registered with SHA-256. */
  GATEHOUSE_V1_MD5     /* X-Sign of a client that is registered with MD5. */
} gatehouse_scheme;

/* A request exactly as it is sent. */
typedef struct {
  gatehouse_scheme scheme;
  const char *client_id;    /* X-Client-Id */
  const char *secure_key;
  const char *method;       /* in upper case */
  const char *path;         /* percent-encoded, without host and query */
  const char *query;        /* percent-encoded, without '?'. "" if absent */
  const char *content_type; /* Content-Type. "" if absent */
  const void *body;
  size_t body_length;
  /*
   * X-Timestamp: epoch milliseconds, 13 digits. New for each request. Anyone can forge a time in an
   * unsigned reply: prove it first (docs/signing.md, "Devices without a clock").
   */
  const char *timestamp;
  const char *nonce;        /* X-Nonce: 16 to 64 of A-Z a-z 0-9 _ -, random. Only version 2 */
} gatehouse_request;

/* A reply as received. A missing header is NULL. */
typedef struct {
  int status;
  const char *timestamp;    /* X-Timestamp */
  const char *signature;    /* X-Sign-V2 in version 2, X-Sign in version 1 */
  const void *body;
  size_t body_length;
} gatehouse_reply;

/*
 * Writes the value of X-Sign-V2 or X-Sign. Returns 0, or -1 if the buffer is too small or the
 * gateway would reject the request.
 */
int gatehouse_sign(const gatehouse_request *request, char *signature, size_t size);

/*
 * Returns 1 if the gateway signed this reply for this request, otherwise 0. Do not act on a reply
 * before this returns 1.
 */
int gatehouse_verify(const gatehouse_request *request, const gatehouse_reply *reply);

#endif
