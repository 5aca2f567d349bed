/* MD5 (RFC 1321), SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) of less than 4 GiB. */
#ifndef GATEHOUSE_DIGEST_H
#define GATEHOUSE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  int is_md5;
  uint32_t state[8];
  uint32_t length;
  uint32_t words[16];
} gatehouse_digest;

void gatehouse_digest_start(gatehouse_digest *digest, int is_md5);
void gatehouse_digest_add(gatehouse_digest *digest, const void *bytes, size_t length);
/* Writes 16 bytes for MD5 and 32 for SHA-256. Returns this number. */
size_t gatehouse_digest_finish(gatehouse_digest *digest, uint8_t *sum);

/* HMAC: start, add to `digest`, finish with the same key. */
void gatehouse_hmac_start(gatehouse_digest *digest, const char *key);
size_t gatehouse_hmac_finish(gatehouse_digest *digest, const char *key, uint8_t *sum);

#endif
