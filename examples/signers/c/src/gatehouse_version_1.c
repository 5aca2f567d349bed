#include "gatehouse_version_1.h"
#include <string.h>

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next byte of a percent-encoded text. -1 at its end and for an invalid encoding. */
static int next_byte(const char **at, const char *end) {
  if (*at >= end) return -1;
  char c = *(*at)++;
  if (c != '%') return c == '+' ? ' ' : (uint8_t)c;
  if (end - *at < 2) return -1;
  int high = hex_digit((*at)[0]), low = hex_digit((*at)[1]);
  *at += 2;
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Whether a text is UTF-8 (RFC 3629). A parameter must not contain controls or `forbidden`. */
static int is_utf8(const char *at, const char *end, const char *forbidden) {
  int pending = 0, low = 0, high = 0;
  while (at < end) {
    int byte = forbidden == NULL ? (uint8_t)*at++ : next_byte(&at, end);
    if (pending > 0) {
      if (byte < low || byte > high) return 0;
      low = 0x80, high = 0xbf, pending--;
    } else if (byte < 0x80) {
      if (forbidden != NULL && (byte < 0x20 || byte == 0x7f || strchr(forbidden, byte))) return 0;
    } else {
      int has_control = byte == 0xc2 && forbidden != NULL;
      if (byte < 0xc2 || byte > 0xf4) return 0;
      pending = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      low = byte == 0xe0 || has_control ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
      high = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    }
  }
  return pending == 0;
}

typedef struct { const char *key, *key_end, *value, *end; } parameter;

/* Finds the parameter that begins at `at` or later. Returns 0 if there is none. */
static int next_parameter(const char *at, const char *end, parameter *found) {
  while (at < end && *at == '&') at++;
  const char *stop = at < end ? memchr(at, '&', (size_t)(end - at)) : NULL;
  found->key = at, found->end = stop == NULL ? end : stop;
  const char *equals = at < end ? memchr(at, '=', (size_t)(found->end - at)) : NULL;
  found->key_end = equals == NULL ? found->end : equals;
  found->value = equals == NULL ? found->end : equals + 1;
  return at < end;
}

static int compare_keys(const parameter *left, const parameter *right) {
  const char *a = left->key, *b = right->key;
  int x = 0, y = 0;
  while (x == y && x >= 0) x = next_byte(&a, left->key_end), y = next_byte(&b, right->key_end);
  return x - y;
}

static void add_decoded(gatehouse_digest *digest, const char *at, const char *end) {
  for (int byte; (byte = next_byte(&at, end)) >= 0;) {
    uint8_t decoded = (uint8_t)byte;
    gatehouse_digest_add(digest, &decoded, 1);
  }
}

int gatehouse_add_parameters(gatehouse_digest *digest, const char *text, size_t length) {
  const char *end = text + length;
  parameter each, last = {0}, next;
  for (;; last = next) {
    next.key = NULL;
    for (const char *at = text; next_parameter(at, end, &each); at = each.end) {
      if (each.key == each.key_end || !is_utf8(each.key, each.key_end, "&=")) return -1;
      if (!is_utf8(each.value, each.end, "&")) return -1;
      int is_later = last.key == NULL || compare_keys(&each, &last) > 0;
      if (is_later && (next.key == NULL || compare_keys(&each, &next) < 0)) next = each;
    }
    if (next.key == NULL) return 0;
    if (last.key != NULL) gatehouse_digest_add(digest, "&", 1);
    add_decoded(digest, next.key, next.key_end);
    const char *separator = "=";
    for (const char *at = text; next_parameter(at, end, &each); at = each.end) {
      if (compare_keys(&each, &next) != 0) continue;
      gatehouse_digest_add(digest, separator, 1);
      add_decoded(digest, each.value, each.end);
      separator = ",";
    }
  }
}

int gatehouse_is_plain_utf8(const char *text, size_t length) {
  return is_utf8(text, text + length, NULL) && (length < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0);
}
