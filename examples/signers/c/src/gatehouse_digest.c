#include "gatehouse_digest.h"

#include <string.h>

/* The fractional parts of sines (RFC 1321 §3.4). */
static const uint32_t md5_constants[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

/* The fractional parts of cube roots of primes (FIPS 180-4 §4.2.2). */
static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* MD5 uses only the first half. */
static const uint32_t md5_state[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
static const uint32_t sha256_state[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
    0x1f83d9ab, 0x5be0cd19};

static uint32_t rotate_left(uint32_t word, unsigned bits) {
  return (word << bits) | (word >> (32 - bits));
}

static void md5_block(uint32_t *state, const uint32_t *words) {
  static const uint8_t shifts[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  for (unsigned i = 0; i < 64; i++) {
    unsigned round = i / 16;
    uint32_t mixed;
    unsigned at;
    if (round == 0) {
      mixed = (b & c) | (~b & d);
      at = i;
    } else if (round == 1) {
      mixed = (d & b) | (~d & c);
      at = 5 * i + 1;
    } else if (round == 2) {
      mixed = b ^ c ^ d;
      at = 3 * i + 5;
    } else {
      mixed = c ^ (b | ~d);
      at = 7 * i;
    }
    uint32_t sum = a + mixed + md5_constants[i] + words[at % 16];
    a = d;
    d = c;
    c = b;
    b += rotate_left(sum, shifts[4 * round + i % 4]);
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

static void sha256_block(uint32_t *state, uint32_t *words) {
  uint32_t v[8];
  memcpy(v, state, sizeof v);
  for (unsigned i = 0; i < 64; i++) {
    uint32_t *word = &words[i % 16];
    if (i >= 16) {
      uint32_t early = words[(i + 1) % 16], late = words[(i + 14) % 16];
      *word += (rotate_left(early, 25) ^ rotate_left(early, 14) ^ early >> 3) +
               words[(i + 9) % 16] +
               (rotate_left(late, 15) ^ rotate_left(late, 13) ^ late >> 10);
    }
    uint32_t first = v[7] + sha256_constants[i] + *word + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
                     (rotate_left(v[4], 26) ^ rotate_left(v[4], 21) ^ rotate_left(v[4], 7));
    uint32_t second = ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2])) +
                      (rotate_left(v[0], 30) ^ rotate_left(v[0], 19) ^ rotate_left(v[0], 10));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += first;
    v[0] = first + second;
  }
  for (unsigned i = 0; i < 8; i++) state[i] += v[i];
}

void gatehouse_digest_start(gatehouse_digest *digest, int is_md5) {
  memcpy(digest->state, is_md5 ? md5_state : sha256_state, sizeof digest->state);
  digest->is_md5 = is_md5;
  digest->length = 0;
}

/* The position of byte `i` in its word. MD5 begins with the low byte, SHA-256 with the high one. */
static unsigned shift_of(const gatehouse_digest *digest, unsigned i) {
  return 8 * ((digest->is_md5 ? i : ~i) % 4);
}

static void add_byte(gatehouse_digest *digest, uint8_t byte) {
  unsigned at = digest->length++ % 64;
  uint32_t *word = &digest->words[at / 4];
  *word = (at % 4 == 0 ? 0 : *word) | (uint32_t)byte << shift_of(digest, at);
  if (at == 63 && digest->is_md5) md5_block(digest->state, digest->words);
  if (at == 63 && !digest->is_md5) sha256_block(digest->state, digest->words);
}

void gatehouse_digest_add(gatehouse_digest *digest, const void *bytes, size_t length) {
  const uint8_t *next = bytes;
  while (length-- > 0) add_byte(digest, *next++);
}

size_t gatehouse_digest_finish(gatehouse_digest *digest, uint8_t *sum) {
  uint32_t low = digest->length << 3, high = digest->length >> 29;
  unsigned size = digest->is_md5 ? 16 : 32;
  add_byte(digest, 0x80);
  while (digest->length % 64 != 56) add_byte(digest, 0);
  for (unsigned i = 0; i < 8; i++) {
    uint32_t word = i / 4 == (digest->is_md5 != 0) ? high : low;
    add_byte(digest, (uint8_t)(word >> shift_of(digest, i)));
  }
  for (unsigned i = 0; i < size; i++) {
    sum[i] = (uint8_t)(digest->state[i / 4] >> shift_of(digest, i));
  }
  return size;
}

/* Adds the block of the key, combined with the padding byte of the inner or outer hash. */
static void add_key(gatehouse_digest *digest, const char *key, uint8_t padding) {
  uint8_t block[64] = {0};
  size_t length = strlen(key);
  if (length > sizeof block) {
    gatehouse_digest_start(digest, 0);
    gatehouse_digest_add(digest, key, length);
    gatehouse_digest_finish(digest, block);
  } else {
    memcpy(block, key, length);
  }
  gatehouse_digest_start(digest, 0);
  for (unsigned i = 0; i < sizeof block; i++) add_byte(digest, block[i] ^ padding);
}

void gatehouse_hmac_start(gatehouse_digest *digest, const char *key) {
  add_key(digest, key, 0x36);
}

size_t gatehouse_hmac_finish(gatehouse_digest *digest, const char *key, uint8_t *sum) {
  gatehouse_digest_finish(digest, sum);
  add_key(digest, key, 0x5c);
  gatehouse_digest_add(digest, sum, 32);
  return gatehouse_digest_finish(digest, sum);
}
