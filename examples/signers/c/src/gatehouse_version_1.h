/* What only version 1 needs: the signed text of parameters, and the form of a reply. */
#ifndef GATEHOUSE_VERSION_1_H
#define GATEHOUSE_VERSION_1_H

#include <stddef.h>

#include "gatehouse_digest.h"

/*
 * Adds the decoded parameters of a query or a form, sorted by key. Without a heap, it searches for
 * the next key each time. Returns -1 if two parsers could read the parameters differently.
 */
int gatehouse_add_parameters(gatehouse_digest *digest, const char *text, size_t length);

/* Whether a body is UTF-8 without a byte order mark. */
int gatehouse_is_plain_utf8(const char *text, size_t length);

/*
 * Whether a reply is an object with this status, `code`, `message` and `timestamp`. Version 1 signs
 * requests and replies alike, so an attacker could present a captured request as a reply.
 */
int gatehouse_is_envelope(const char *json, size_t length, int status);

#endif
