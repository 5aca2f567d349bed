/*
 * Lists devices, creates one and searches for it. Every reply is verified. It has no TLS. For POSIX
 * systems:
 *
 *   cc -Iinclude src/gatehouse_*.c example.c -o example
 *   GATEWAY_URL=http://… CLIENT_ID=… SECURE_KEY=… DEVICE_ID=… ./example [version [digest]]
 */
#define _POSIX_C_SOURCE 200809L
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "gatehouse_signer.h"

static char host[256], port[8] = "80";
static gatehouse_scheme scheme = GATEHOUSE_V2;

static void fail(const char *text) {
  fprintf(stderr, "%s\n", text);
  exit(1);
}

static const char *setting(const char *name) {
  const char *value = getenv(name);
  if (value == NULL || *value == 0) {
    fprintf(stderr, "Set %s.\n", name);
    exit(1);
  }
  return value;
}

/* Only http://HOST or http://HOST:PORT, with or without a slash at the end. */
static void read_gateway_url(void) {
  const char *url = setting("GATEWAY_URL");
  int end = 0;
  if (strncmp(url, "http://", 7) != 0) fail("GATEWAY_URL must begin with http://.");
  if (sscanf(url + 7, "%255[^:/?#]%n", host, &end) != 1) fail("GATEWAY_URL has no host.");
  url += 7 + end;
  end = 0;
  if (*url == ':' && sscanf(url, ":%5[0-9]%n", port, &end) == 1) url += end;
  if (strcmp(url, "/") != 0 && *url != 0) fail("GATEWAY_URL must be http://HOST:PORT.");
}

static void write_nonce(char nonce[33]) {
  unsigned char bytes[16];
  FILE *random = fopen("/dev/urandom", "rb");
  if (random == NULL || fread(bytes, sizeof bytes, 1, random) != 1) fail("No random bytes.");
  fclose(random);
  for (int i = 0; i < 16; i++) sprintf(nonce + 2 * i, "%02x", bytes[i]);
}

/* Sends a request on a new connection and reads until the gateway closes it. */
static size_t exchange(const char *request, size_t length, char *reply, size_t size) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *address;
  size_t received = 0;
  if (getaddrinfo(host, port, &hints, &address) != 0) fail("Unknown host.");
  int connection = socket(address->ai_family, SOCK_STREAM, 0);
  if (connect(connection, address->ai_addr, address->ai_addrlen) != 0) fail("No connection.");
  freeaddrinfo(address);
  struct timeval limit = {.tv_sec = 10};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (send(connection, request, length, MSG_NOSIGNAL) != (ssize_t)length) fail("Not sent.");
  for (ssize_t count = 1; count > 0 && received < size - 1; received += (size_t)count) {
    count = read(connection, reply + received, size - 1 - received);
    if (count < 0) fail("No reply.");
  }
  close(connection);
  reply[received] = 0;
  return received;
}

/* Ends the value of a header with NUL and returns it. NULL if the head does not have it. */
static char *take_header(char *head, char *end, const char *name) {
  for (char *line = head; line < end; line += strlen(line) + 2) {
    if (strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
      return line + strlen(name) + 1 + strspn(line + strlen(name) + 1, " ");
    }
  }
  return NULL;
}

static void call(const char *method, const char *path, const char *query, const char *body) {
  static char message[8192], reply[65536];
  char timestamp[14], nonce[33], signature[GATEHOUSE_SIGNATURE_SIZE];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(timestamp, sizeof timestamp, "%lld", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
  write_nonce(nonce);
  gatehouse_request request = {
      .scheme = scheme, .client_id = setting("CLIENT_ID"), .secure_key = setting("SECURE_KEY"),
      .method = method, .path = path, .query = query,
      .content_type = *body == 0 ? "" : "application/json",
      .body = body, .body_length = strlen(body), .timestamp = timestamp, .nonce = nonce};
  if (gatehouse_sign(&request, signature, sizeof signature) != 0) fail("The gateway would reject it.");
  const char *name = scheme == GATEHOUSE_V2 ? "X-Sign-V2" : "X-Sign";
  int length = snprintf(message, sizeof message,
      "%s %s%s%s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\nX-Client-Id: %s\r\n"
      "X-Timestamp: %s\r\nX-Nonce: %s\r\n%s: %s\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
      method, path, *query == 0 ? "" : "?", query, host, port, request.client_id, timestamp, nonce,
      name, signature, *body == 0 ? "" : "Content-Type: ", request.content_type,
      *body == 0 ? "" : "\r\n", strlen(body), body);
  if (length < 0 || (size_t)length >= sizeof message) fail("The request is too long.");
  size_t received = exchange(message, (size_t)length, reply, sizeof reply);
  char *end = strstr(reply, "\r\n\r\n");
  if (end == NULL || strncmp(reply, "HTTP/1.1 ", 9) != 0) fail("The reply is not HTTP.");
  char *content = end + 4;
  for (char *c = reply; c < end + 2; c++) if (*c == '\r') *c = 0;
  gatehouse_reply answer = {
      .status = atoi(reply + 9), .timestamp = take_header(reply, end, "X-Timestamp"),
      .signature = take_header(reply, end, name), .body = content,
      .body_length = received - (size_t)(content - reply)};
  /* The gateway sends Content-Length. A reply in chunks fails the verification. */
  if (!gatehouse_verify(&request, &answer)) {
    fprintf(stderr, "%d %s\nThe reply is not signed by the gateway.\n", answer.status, content);
    exit(1);
  }
  printf("%d %s\n", answer.status, content);
}

int main(int count, char **arguments) {
  static char device[512];
  read_gateway_url();
  if (count > 1 && strcmp(arguments[1], "1") == 0) {
    int is_md5 = count > 2 && strcmp(arguments[2], "MD5") == 0;
    int is_known = count < 3 || is_md5 || strcmp(arguments[2], "SHA-256") == 0;
    if (!is_known) fail("The digest is SHA-256 or MD5.");
    scheme = is_md5 ? GATEHOUSE_V1_MD5 : GATEHOUSE_V1_SHA256;
  }
  int length = snprintf(device, sizeof device,
      "{\"id\":\"%s\",\"name\":\"Pump 张三 1+1\",\"productId\":\"p1\",\"productName\":\"P 1\"}",
      setting("DEVICE_ID"));
  if (length < 0 || (size_t)length >= sizeof device) fail("DEVICE_ID is too long.");
  call("GET", "/api/device", "pageSize=20&pageIndex=0", "");
  call("POST", "/device-instance", "", device);
  call("GET", "/device/instance/_query",
      "where=name%20like%20%22%25%E5%BC%A0%E4%B8%89%201%2B1%25%22&pageSize=20", "");
  return 0;
}
