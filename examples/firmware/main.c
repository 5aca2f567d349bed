/*
 * Reports the temperature of a device with a signed request, and verifies the reply. Its own code
 * allocates no memory. It runs on a computer with POSIX. The comments with ESP32 name what changes
 * there.
 */
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "gatehouse_signer.h"

#define BUFFER_SIZE 4096
#define TIMESTAMP_SIZE 24
#define TIMEOUT_SECONDS 10

typedef struct {
  int status;
  char text[BUFFER_SIZE]; /* the head and the body, with NUL at the end */
  char *body;
  size_t body_length;
} http_reply;

/* The characters of nonces and device ids. */
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
static char host[128], port[8], secure_key[129];

static const char *setting(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value == NULL ? fallback : value;
}

/* ESP32: read the key from an encrypted NVS partition. */
static int read_secure_key(const char *path) {
  FILE *file = fopen(path, "r");
  struct stat status;
  int found = 0;
  if (file == NULL || fstat(fileno(file), &status) != 0) {
    fprintf(stderr, "Cannot read %s.\n", path);
  } else if ((status.st_mode & 077) != 0) {
    fprintf(stderr, "Other users can read %s. Run: chmod 600 %s\n", path, path);
  } else {
    found = fscanf(file, "%128s", secure_key) == 1;
  }
  if (file != NULL) {
    fclose(file);
  }
  return found;
}

/* ESP32: esp_timer_get_time() / 1000. */
static long long uptime_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* 24 random characters. ESP32: esp_fill_random(). */
static int make_nonce(char nonce[25]) {
  FILE *random = fopen("/dev/urandom", "r");
  size_t count = random == NULL ? 0 : fread(nonce, 1, 24, random);
  if (random != NULL) {
    fclose(random);
  }
  for (size_t i = 0; i < 24; i++) {
    nonce[i] = alphabet[(unsigned char)nonce[i] % 64];
  }
  nonce[24] = '\0';
  return count == 24;
}

/* ESP32: use esp_tls or esp_http_client with the certificate of your gateway. */
static int connect_to_gateway(void) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found, *each;
  struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
  int connection = -1;
  if (getaddrinfo(host, port, &hints, &found) != 0) {
    return -1;
  }
  for (each = found; each != NULL && connection < 0; each = each->ai_next) {
    connection = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
    /* On Linux, SO_SNDTIMEO also limits connect(). */
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (connection >= 0 && connect(connection, each->ai_addr, each->ai_addrlen) != 0) {
      close(connection);
      connection = -1;
    }
  }
  freeaddrinfo(found);
  return connection;
}

/* Sends a request with "Connection: close", and reads the reply up to the end of the connection. */
static int exchange(const char *request, http_reply *reply) {
  size_t length = 0;
  ssize_t count = -1;
  int connection = connect_to_gateway();
  if (connection < 0) {
    return 0;
  }
  if (send(connection, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request)) {
    while (length < BUFFER_SIZE - 1 &&
           (count = recv(connection, reply->text + length, BUFFER_SIZE - 1 - length, 0)) > 0) {
      length += (size_t)count;
    }
  }
  close(connection);
  reply->text[length] = '\0';
  reply->body = strstr(reply->text, "\r\n\r\n");
  if (count != 0 || reply->body == NULL ||
      sscanf(reply->text, "HTTP/1.1 %3d", &reply->status) != 1) {
    return 0;
  }
  reply->body += 4;
  reply->body_length = length - (size_t)(reply->body - reply->text);
  return 1;
}

/* Copies the value of a header, and returns it, or returns NULL. */
static const char *read_header(const http_reply *reply, const char *name, char *value,
                               size_t size) {
  size_t length = strlen(name);
  const char *line = strstr(reply->text, "\r\n");
  for (; line != NULL && line + 4 < reply->body; line = strstr(line + 2, "\r\n")) {
    if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
      const char *start = line + 3 + length + strspn(line + 3 + length, " ");
      size_t count = strcspn(start, "\r");
      if (count < size) {
        memcpy(value, start, count);
        value[count] = '\0';
        return value;
      }
    }
  }
  return NULL;
}

/*
 * Sets the time at which the device started. The reply is not signed, so confirm_clock() must
 * follow. ESP32: once after each start, or use SNTP.
 */
static int read_clock(long long *started_at) {
  static char request[256];
  static http_reply reply;
  snprintf(request, sizeof request,
           "GET /time HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", host, port);
  if (!exchange(request, &reply) || reply.status != 200) {
    return 0;
  }
  const char *result = strstr(reply.body, "\"result\":");
  *started_at = result == NULL ? 0 : atoll(result + 9) - uptime_milliseconds();
  return result != NULL;
}

/*
 * Signs a request, sends it, and verifies the reply. Keeps X-Timestamp of the reply, which the
 * signature covers.
 */
static int call(const char *method, const char *path, const char *body, long long started_at,
                http_reply *reply, char reply_timestamp[TIMESTAMP_SIZE]) {
  static char text[1024], nonce[25], reply_signature[GATEHOUSE_SIGNATURE_SIZE];
  char timestamp[TIMESTAMP_SIZE], signature[GATEHOUSE_SIGNATURE_SIZE];
  snprintf(timestamp, sizeof timestamp, "%lld", started_at + uptime_milliseconds());
  gatehouse_request request = {
      .scheme = GATEHOUSE_V2, .client_id = setting("CLIENT_ID", "firmware"),
      .secure_key = secure_key, .method = method, .path = path, .query = "",
      .content_type = *body == '\0' ? "" : "application/json",
      .body = body, .body_length = strlen(body), .timestamp = timestamp, .nonce = nonce};
  if (!make_nonce(nonce) || gatehouse_sign(&request, signature, sizeof signature) != 0) {
    fprintf(stderr, "Cannot sign the request.\n");
    return 0;
  }
  int length = snprintf(text, sizeof text,
                        "%s %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n%s"
                        "Content-Length: %zu\r\nX-Client-Id: %s\r\nX-Timestamp: %s\r\n"
                        "X-Nonce: %s\r\nX-Sign-V2: %s\r\n\r\n%s",
                        method, path, host, port,
                        *body == '\0' ? "" : "Content-Type: application/json\r\n", strlen(body),
                        request.client_id, timestamp, nonce, signature, body);
  if (length >= (int)sizeof text || !exchange(text, reply)) {
    fprintf(stderr, "The gateway did not reply.\n");
    return 0;
  }
  gatehouse_reply received = {
      .status = reply->status,
      .timestamp = read_header(reply, "X-Timestamp", reply_timestamp, TIMESTAMP_SIZE),
      .signature = read_header(reply, "X-Sign-V2", reply_signature, sizeof reply_signature),
      .body = reply->body,
      .body_length = reply->body_length};
  if (!gatehouse_verify(&request, &received)) {
    fprintf(stderr, "The reply is not signed. Do not act on it: %s\n", reply->body);
    return 0;
  }
  return 1;
}

/*
 * Replaces the time of read_clock() with the time of a verified reply. Its status does not matter:
 * the gateway also signs a 403. Without this step, an attacker could send a later time, keep the
 * report back, and send it at that time.
 */
static int confirm_clock(long long *started_at, const char *device) {
  static char path[128], timestamp[TIMESTAMP_SIZE];
  static http_reply reply;
  snprintf(path, sizeof path, "/api/v1/device/%s/_detail", device);
  if (!call("GET", path, "", *started_at, &reply, timestamp)) {
    return 0;
  }
  *started_at = atoll(timestamp) - uptime_milliseconds();
  return 1;
}

static int report(long long started_at, const char *device, double temperature) {
  static char path[128], body[128], timestamp[TIMESTAMP_SIZE];
  static http_reply reply;
  snprintf(path, sizeof path, "/api/v1/device/%s/log", device);
  snprintf(body, sizeof body, "{\"type\":\"reportProperty\",\"content\":{\"temperature\":%.1f}}",
           temperature);
  if (!call("POST", path, body, started_at, &reply, timestamp)) {
    return 0;
  }
  printf("%d, verified: %s\n", reply.status, reply.body);
  return reply.status == 200;
}

/* The id becomes a part of the path, so it must not contain characters such as "/" and "?". */
static int is_device_id(const char *text) {
  size_t length = strlen(text);
  return length >= 1 && length <= 64 && strspn(text, alphabet) == length;
}

int main(int count, char **arguments) {
  long long started_at;
  char *end = NULL;
  double temperature = count == 2 ? strtod(arguments[1], &end) : 0;
  if (end == NULL || end == arguments[1] || *end != '\0' || !(fabs(temperature) < 3000)) {
    fprintf(stderr, "Usage: %s TEMPERATURE\n", arguments[0]);
    return 2;
  }
  const char *gateway = setting("GATEWAY_URL", "http://localhost:8844");
  const char *device = setting("DEVICE_ID", "demo-device-1");
  if (!is_device_id(device)) {
    fprintf(stderr, "DEVICE_ID must be 1 to 64 of A-Z a-z 0-9 _ -.\n");
    return 2;
  }
  if (sscanf(gateway, "http://%127[^:/]:%7[0-9]", host, port) != 2) {
    fprintf(stderr, "GATEWAY_URL must have the form http://HOST:PORT.\n");
    return 2;
  }
  if (!read_secure_key(setting("SECURE_KEY_FILE", "secure-key.txt"))) {
    return 1;
  }
  if (!read_clock(&started_at)) {
    fprintf(stderr, "Cannot read the time from the gateway.\n");
    return 1;
  }
  return confirm_clock(&started_at, device) && report(started_at, device, temperature) ? 0 : 1;
}
