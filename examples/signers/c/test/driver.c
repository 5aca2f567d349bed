/* For the tests: reads jobs, one a line, and prints a signature, `refused`, `valid` or `invalid`. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gatehouse_signer.h"

enum { VERSION, DIGEST, CLIENT, KEY, METHOD, PATH, QUERY, TYPE, BODY, TIMESTAMP, NONCE,
       STATUS, REPLY_TIMESTAMP, REPLY_SIGNATURE, REPLY_BODY, FIELDS };

/* Replaces hexadecimal digits by the bytes and a NUL. Returns the number of bytes. */
static size_t decode(char *field) {
  size_t length = strlen(field) / 2;
  for (size_t i = 0; i < length; i++) {
    char digits[3] = {field[2 * i], field[2 * i + 1], 0};
    field[i] = (char)strtoul(digits, NULL, 16);
  }
  field[length] = 0;
  return length;
}

int main(void) {
  static char line[1 << 20];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char *fields[FIELDS], *rest = line, signature[GATEHOUSE_SIGNATURE_SIZE];
    size_t lengths[FIELDS] = {0}, count = 0;
    line[strcspn(line, "\n")] = 0;
    while (rest != NULL && count < FIELDS) fields[count++] = strsep(&rest, "\t");
    for (size_t i = 0; i < count; i++) {
      if (strcmp(fields[i], "-") == 0) fields[i] = NULL;
      else lengths[i] = decode(fields[i]);
    }
    gatehouse_request request = {
        .scheme = fields[VERSION][0] == '2' ? GATEHOUSE_V2
                  : strcmp(fields[DIGEST], "MD5") == 0 ? GATEHOUSE_V1_MD5 : GATEHOUSE_V1_SHA256,
        .client_id = fields[CLIENT], .secure_key = fields[KEY], .method = fields[METHOD],
        .path = fields[PATH], .query = fields[QUERY], .content_type = fields[TYPE],
        .body = fields[BODY], .body_length = lengths[BODY], .timestamp = fields[TIMESTAMP],
        .nonce = fields[NONCE]};
    if (count < FIELDS) {
      puts(gatehouse_sign(&request, signature, sizeof signature) == 0 ? signature : "refused");
      continue;
    }
    /* A copy of the exact size lets AddressSanitizer find reads behind the end. */
    char *body = malloc(lengths[REPLY_BODY]);
    if (lengths[REPLY_BODY] > 0) memcpy(body, fields[REPLY_BODY], lengths[REPLY_BODY]);
    gatehouse_reply reply = {.status = atoi(fields[STATUS]), .timestamp = fields[REPLY_TIMESTAMP],
                             .signature = fields[REPLY_SIGNATURE], .body = body,
                             .body_length = lengths[REPLY_BODY]};
    puts(gatehouse_verify(&request, &reply) ? "valid" : "invalid");
    free(body);
  }
  return 0;
}
