#include "gatehouse_signer.h"
#include <string.h>

#include "gatehouse_digest.h"
#include "gatehouse_version_1.h"

#define TOLERANCE_MILLISECONDS 300000

static void add_text(gatehouse_digest *digest, const char *text) {
  gatehouse_digest_add(digest, text, strlen(text));
}

static void add_line(gatehouse_digest *digest, const char *line) {
  add_text(digest, "\n");
  add_text(digest, line);
}

static void write_hex(const uint8_t *bytes, size_t count, char *text) {
  for (size_t i = 0; i < count; i++) {
    *text++ = "0123456789abcdef"[bytes[i] >> 4];
    *text++ = "0123456789abcdef"[bytes[i] & 15];
  }
  *text = 0;
}

static void add_body_line(gatehouse_digest *digest, const void *body, size_t length) {
  gatehouse_digest of_body;
  uint8_t sum[32];
  char hex[GATEHOUSE_SIGNATURE_SIZE];
  gatehouse_digest_start(&of_body, 0);
  gatehouse_digest_add(&of_body, body, length);
  write_hex(sum, gatehouse_digest_finish(&of_body, sum), hex);
  add_line(digest, hex);
}

/* Epoch milliseconds with 13 digits, or -1. */
static int64_t read_timestamp(const char *text) {
  int64_t value = 0;
  if (strlen(text) != 13 || strspn(text, "0123456789") != 13 || *text == '0') return -1;
  while (*text != 0) value = value * 10 + *text++ - '0';
  return value;
}

static int is_nonce(const char *text) {
  size_t length = 0;
  for (char c; (c = text[length]) != 0; length++) {
    int is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '-') return 0;
  }
  return length >= 16 && length <= 64;
}

/* Whether the media type is that of a form, in any case. Its parameters do not count. */
static int is_form(const char *type) {
  const char *form = "application/x-www-form-urlencoded";
  type += strspn(type, " \t");
  while (*form != 0 && (*type | 32) == *form) form++, type++;
  type += strspn(type, " \t");
  return *form == 0 && (*type == 0 || *type == ';');
}

/* Adds what version 1 signs. It covers the query or the body, so the other one must be empty. */
static int add_signed_text(gatehouse_digest *digest, const gatehouse_request *request) {
  static const char methods[] = "GET\0HEAD\0DELETE\0OPTIONS\0POST\0PUT\0PATCH";
  const char *method = methods;
  size_t length = request->body_length;
  for (; strcmp(method, request->method) != 0; method += strlen(method) + 1) {
    if (method == methods + sizeof methods - sizeof "PATCH") return -1;
  }
  if (method < methods + sizeof "GET\0HEAD\0DELETE\0OPTIONS") {
    if (length != 0) return -1;
    return gatehouse_add_parameters(digest, request->query, strlen(request->query));
  }
  if (*request->query != 0 || !gatehouse_is_plain_utf8(request->body, length)) return -1;
  if (is_form(request->content_type)) {
    return gatehouse_add_parameters(digest, request->body, length);
  }
  gatehouse_digest_add(digest, request->body, length);
  return 0;
}

/* In version 1, the timestamp and the secure key follow the signed text. */
static void finish(gatehouse_digest *digest, int is_version_2, const char *timestamp,
                   const char *secure_key, char *signature) {
  uint8_t sum[32];
  if (!is_version_2) add_text(digest, timestamp), add_text(digest, secure_key);
  size_t size = is_version_2 ? gatehouse_hmac_finish(digest, secure_key, sum)
                             : gatehouse_digest_finish(digest, sum);
  write_hex(sum, size, signature);
}

int gatehouse_sign(const gatehouse_request *request, char *signature, size_t size) {
  const char *const lines[] = {request->method,       request->path,      request->query,
                               request->content_type, request->client_id, request->timestamp};
  gatehouse_digest digest;
  if (size < GATEHOUSE_SIGNATURE_SIZE || read_timestamp(request->timestamp) < 0) return -1;
  if (request->scheme == GATEHOUSE_V2) {
    if (!is_nonce(request->nonce)) return -1;
    gatehouse_hmac_start(&digest, request->secure_key);
    add_text(&digest, "GATEHOUSE-V2");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
      if (strchr(lines[i], '\n') != NULL) return -1;
      if (i == 4) add_body_line(&digest, request->body, request->body_length);
      add_line(&digest, lines[i]);
    }
    add_line(&digest, request->nonce);
  } else {
    gatehouse_digest_start(&digest, request->scheme == GATEHOUSE_V1_MD5);
    if (add_signed_text(&digest, request) != 0) return -1;
  }
  finish(&digest, request->scheme == GATEHOUSE_V2, request->timestamp, request->secure_key, signature);
  return 0;
}

/* Compares in a time that depends only on the length. Accepts digits in upper case. */
static int is_equal(const char *expected, const char *presented) {
  if (strlen(presented) != strlen(expected)) return 0;
  unsigned difference = 0;
  while (*expected != 0) {
    unsigned c = (unsigned char)*presented++;
    difference |= (c | (unsigned)(c >= 'A' && c <= 'F') << 5) ^ (unsigned char)*expected++;
  }
  return difference == 0;
}

int gatehouse_verify(const gatehouse_request *request, const gatehouse_reply *reply) {
  gatehouse_digest digest;
  int code = reply->status;
  char expected[GATEHOUSE_SIGNATURE_SIZE], status[4] = {0};
  for (int i = 2, rest = code; i >= 0; i--, rest /= 10) status[i] = (char)('0' + rest % 10);
  if (reply->timestamp == NULL || reply->signature == NULL || code < 100 || code > 599) return 0;
  if (request->scheme == GATEHOUSE_V2) {
    gatehouse_hmac_start(&digest, request->secure_key);
    add_text(&digest, "GATEHOUSE-V2-REPLY");
    add_line(&digest, status);
    add_line(&digest, request->nonce);
    add_body_line(&digest, reply->body, reply->body_length);
    add_line(&digest, reply->timestamp);
  } else {
    gatehouse_digest_start(&digest, request->scheme == GATEHOUSE_V1_MD5);
    gatehouse_digest_add(&digest, reply->body, reply->body_length);
  }
  finish(&digest, request->scheme == GATEHOUSE_V2, reply->timestamp, request->secure_key, expected);
  if (!is_equal(expected, reply->signature)) return 0;
  if (request->scheme == GATEHOUSE_V2) return 1;
  int64_t time = read_timestamp(reply->timestamp), age = time - read_timestamp(request->timestamp);
  int is_timely = age <= TOLERANCE_MILLISECONDS && age >= -TOLERANCE_MILLISECONDS;
  return time > 0 && is_timely && gatehouse_is_envelope(reply->body, reply->body_length, code);
}
