/*
 * For the tests: passes random bytes and changed replies to everything that reads input. Run it
 * with sanitizers. Each input is a heap block of its exact size, so that a read behind it fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/gatehouse_version_1.h"
#include "gatehouse_signer.h"

#define RUNS 20000

static uint32_t state = 20261122;

static uint32_t below(uint32_t limit) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state % limit;
}

static const char good[] = "{\"status\":200,\"code\":\"success\",\"message\":\"\",\"timestamp\":1}";

/* Random bytes, random JSON tokens, or a good reply with some changes. */
static size_t fill(char *input) {
  static const char tokens[] = "{}[]\"\":,\\ \n0129status%&=+a\xc3\xa9\xf0\x9f\x98\x80";
  size_t length = below(100);
  switch (below(3)) {
    case 0:
      for (size_t i = 0; i < length; i++) input[i] = (char)below(256);
      return length;
    case 1:
      for (size_t i = 0; i < length; i++) input[i] = tokens[below(sizeof tokens - 1)];
      return length;
    default:
      memcpy(input, good, sizeof good - 1);
      for (uint32_t changes = below(4); changes > 0; changes--) {
        input[below(sizeof good - 1)] = tokens[below(sizeof tokens - 1)];
      }
      return below(8) == 0 ? below(sizeof good) : sizeof good - 1;
  }
}

int main(void) {
  unsigned envelopes = 0, parameters = 0;
  for (unsigned run = 0; run < RUNS; run++) {
    char input[128], signature[GATEHOUSE_SIGNATURE_SIZE];
    size_t length = fill(input);
    char *text = malloc(length + 1), *block = malloc(length == 0 ? 1 : length);
    memcpy(text, input, length);
    memcpy(block, input, length);
    text[length] = 0;
    gatehouse_digest digest;
    gatehouse_digest_start(&digest, (int)below(2));
    envelopes += (unsigned)gatehouse_is_envelope(block, length, 200);
    parameters += gatehouse_add_parameters(&digest, block, length) == 0;
    gatehouse_is_plain_utf8(block, length);
    gatehouse_request request = {
        .scheme = (gatehouse_scheme)below(3), .client_id = text, .secure_key = text,
        .method = below(2) ? "GET" : "POST", .path = text, .query = below(2) ? text : "",
        .content_type = below(2) ? text : "application/x-www-form-urlencoded", .body = block,
        .body_length = length, .timestamp = below(2) ? text : "1795167634189",
        .nonce = below(2) ? text : "q83vEjRWeJCrze8S"};
    gatehouse_sign(&request, signature, sizeof signature);
    gatehouse_reply reply = {.status = (int)below(1200) - 100, .timestamp = text, .signature = text,
                             .body = block, .body_length = length};
    if (gatehouse_verify(&request, &reply)) {
      puts("A random reply was accepted.");
      return 1;
    }
    free(text);
    free(block);
  }
  printf("%d inputs, %u envelopes, %u parameters\n", RUNS, envelopes, parameters);
  return envelopes > 500 && parameters > 500 ? 0 : 1;
}
