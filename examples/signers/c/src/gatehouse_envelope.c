#include <string.h>

#include "gatehouse_version_1.h"

static size_t skip_spaces(const char *json, size_t at, size_t length) {
  while (at < length && (json[at] == ' ' || (json[at] >= '\t' && json[at] <= '\r'))) at++;
  return at;
}

/* The end of a string whose first quotation mark is at `at`. Not below `length` without an end. */
static size_t skip_string(const char *json, size_t at, size_t length) {
  for (at++; at < length && json[at] != '"'; at++) {
    if (json[at] == '\\') at++;
  }
  return at;
}

/* Whether a value ends at `at`. */
static int is_end(const char *json, size_t at, size_t length) {
  at = skip_spaces(json, at, length);
  return at < length && (json[at] == ',' || json[at] == '}' || json[at] == ']');
}

/* Whether the value at `at` is a whole number, and the status unless that is 0. */
static int is_number(const char *json, size_t at, size_t length, unsigned status) {
  size_t start = at;
  unsigned value = 0;
  for (; at < length && json[at] >= '0' && json[at] <= '9'; at++) {
    value = value * 10 + (uint8_t)json[at] - '0';
  }
  if (status == 0 ? at == start : at != start + 3 || value != status) return 0;
  return is_end(json, at, length);
}

int gatehouse_is_envelope(const char *json, size_t length, int status) {
  static const char names[4][10] = {"code", "message", "status", "timestamp"};
  unsigned seen = 0, depth = 0;
  int is_name = 0;
  for (size_t at = skip_spaces(json, 0, length); at < length; at++) {
    char c = json[at];
    if (depth == 0 && c != '{') return 0;
    if (c == '{' || c == '[') is_name = ++depth == 1;
    if (c == ',') is_name = depth == 1;
    if ((c == '}' || c == ']') && --depth == 0) {
      return c == '}' && seen == 15 && skip_spaces(json, at + 1, length) == length;
    }
    if (c != '"') continue;
    size_t end = skip_string(json, at, length);
    if (is_name) {
      size_t value = skip_spaces(json, end + 1, length);
      if (value >= length || json[value] != ':') return 0;
      value = skip_spaces(json, value + 1, length);
      for (unsigned i = 0; i < 4 && value < length; i++) {
        size_t size = strlen(names[i]);
        if (end - at - 1 != size || memcmp(json + at + 1, names[i], size) != 0) continue;
        unsigned expected = i == 2 ? (unsigned)status : 0;
        int is_right = i < 2 ? json[value] == '"' : is_number(json, value, length, expected);
        if (!is_right || (seen & 1u << i) != 0) return 0;
        seen |= 1u << i;
      }
      is_name = 0;
      end = value - 1;
    } else if (depth == 1 && !is_end(json, end + 1, length)) return 0;
    at = end;
  }
  return 0;
}
