/* Signs one job of signing-mistakes.slow.test.ts per line. Link with libcrypto. */
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 65536

static void plain(char *text) {
  char *to = text;
  for (char *from = text; *from; from++) {
    if (from[0] == '\\' && from[1] == 'n') { *to++ = '\n'; from++; }
    else if (from[0] == '\\' && from[1] == 'r') { *to++ = '\r'; from++; }
    else *to++ = *from;
  }
  *to = 0;
}

static int split(char *text, const char *separator, char **items) {
  int count = 0;
  for (char *item; (item = strsep(&text, separator)); ) items[count++] = item;
  return count;
}

static int byText(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }

static void hex(char *to, const unsigned char *bytes, unsigned length) {
  for (unsigned i = 0; i < length; i++) sprintf(to + 2 * i, "%02x", bytes[i]);
}

static void hash(char *to, const char *text) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned length;
  EVP_Digest(text, strlen(text), sum, &length, EVP_sha256(), NULL);
  hex(to, sum, length);
}

/* As a programmer formats JSON with printf. */
static void json(char *to, char **pairs, int count) {
  to += sprintf(to, "{");
  for (int i = 0; i < count; i++) {
    char *value = strchr(pairs[i], '=');
    to += sprintf(to, "%s\"%.*s\": \"%s\"", i ? ", " : "", (int)(value - pairs[i]), pairs[i], value + 1);
  }
  sprintf(to, "}");
}

static void encode(char *to, char **pairs, int count) {
  for (int i = 0; i < count; i++) {
    if (i) *to++ = '&';
    int inValue = 0;
    for (char *c = pairs[i]; *c; c++) {
      int safe = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~", *c) != NULL;
      if (!inValue && *c == '=') { *to++ = '='; inValue = 1; }
      else if (safe) *to++ = *c;
      else to += sprintf(to, "%%%02X", (unsigned char)*c);
    }
  }
  *to = 0;
}

static void part(char *to, char *spec) {
  char *pairs[256], text[SIZE];
  plain(spec + 1);
  if (*spec == '=') { strcpy(to, spec + 1); return; }
  if (*spec == 'h') { hash(to, spec + 1); return; }
  int count = split(spec + 1, "&", pairs);
  if (*spec == 'u') encode(to, pairs, count);
  if (*spec == 'j') json(to, pairs, count);
  if (*spec == 'H') { json(text, pairs, count); hash(to, text); }
  if (*spec == 's') {
    qsort(pairs, count, sizeof *pairs, byText);
    *to = 0;
    for (int i = 0; i < count; i++) { if (i) strcat(to, "&"); strcat(to, pairs[i]); }
  }
}

int main(void) {
  static char line[SIZE], text[SIZE], out[SIZE];
  char *job[64];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    int count = split(line, "\t", job);
    *text = 0;
    for (int i = 3; i < count; i++) part(text + strlen(text), job[i]);
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned length;
    if (!strcmp(job[0], "hmac")) {
      plain(job[2]);
      HMAC(EVP_sha256(), job[2], strlen(job[2]), (unsigned char *)text, strlen(text), sum, &length);
    } else {
      EVP_Digest(text, strlen(text), sum, &length, EVP_get_digestbyname(job[0]), NULL);
    }
    if (!strcmp(job[1], "hex")) hex(out, sum, length);
    else {
      EVP_EncodeBlock((unsigned char *)out, sum, length);
      for (char *c = out; *c && !strcmp(job[1], "base64url"); c++) *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    }
    puts(out);
  }
}
