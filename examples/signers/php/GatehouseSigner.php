<?php
/**
 * Signs requests to Gatehouse and verifies its replies, as docs/signing.md specifies. PHP 8.1 or
 * later, with its standard extensions.
 *
 *     $signer = new GatehouseSigner('machine-1', $secureKey);
 *     $request = $signer->sign('GET', '/api/device?pageSize=20');
 *     // Send the request with $request->headers. Then:
 *     $request->verify($status, $replyHeaders, $received);
 */
declare(strict_types=1);
/** The gateway would reject this request, so it gets no signature. */
final class RefusedRequest extends InvalidArgumentException {}

/** The gateway did not sign this reply for this request. */
final class UnverifiedReply extends RuntimeException {}

final class GatehouseSigner
{
    private int $latest = 0;

    /** @param string $digest the algorithm of version 1: SHA-256 or MD5 */
    public function __construct(
        public readonly string $clientId,
        private readonly string $secureKey,
        public readonly int $version = 2,
        private readonly string $digest = 'SHA-256',
    ) {
        $isKnown = in_array($version, [1, 2], true) && in_array($digest, ['SHA-256', 'MD5'], true);
        self::require($isKnown, 'The version is 1 or 2. The digest is SHA-256 or MD5.');
    }

    /** Signs a request exactly as it is sent. $target is the path with the query. */
    public function sign(
        string $method, string $target, string $body = '', string $contentType = '',
        ?string $timestamp = null, ?string $nonce = null,
    ): SignedRequest {
        // In version 1, two equal requests in one millisecond would have the same signature.
        $now = (int) (microtime(true) * 1000);
        $timestamp ??= (string) ($this->latest = min(max($now, $this->latest + 1), $now + 1000));
        $isTimestamp = preg_match('/\A[1-9][0-9]{12}\z/', $timestamp) === 1;
        self::require($isTimestamp, 'The timestamp must be epoch milliseconds with 13 digits.');
        [$path, $query] = explode('?', $target, 2) + [1 => ''];
        $headers = ['X-Client-Id' => $this->clientId, 'X-Timestamp' => $timestamp];
        $headers += $contentType === '' ? [] : ['Content-Type' => $contentType];
        if ($this->version === 1) {
            $text = self::signedText($method, $query, $body, $contentType);
            return new SignedRequest($this, $headers + ['X-Sign' => $this->digest($text, $timestamp)]);
        }
        $nonce ??= bin2hex(random_bytes(16));
        $isNonce = preg_match('/\A[A-Za-z0-9_-]{16,64}\z/', $nonce) === 1;
        self::require($isNonce, 'The nonce must be 16 to 64 characters of Base64url.');
        $lines = ['GATEHOUSE-V2', $method, $path, $query, $contentType, hash('sha256', $body),
            $this->clientId, $timestamp, $nonce];
        self::require(!str_contains(implode('', $lines), "\n"), 'No part may have a line feed.');
        $headers += ['X-Nonce' => $nonce, 'X-Sign-V2' => $this->hmac($lines)];
        return new SignedRequest($this, $headers);
    }

    public function digest(string $text, string $timestamp): string
    {
        return hash($this->digest === 'MD5' ? 'md5' : 'sha256', "$text$timestamp$this->secureKey");
    }

    public function hmac(array $lines): string
    {
        return hash_hmac('sha256', implode("\n", $lines), $this->secureKey);
    }

    /** What version 1 signs: the query or the body. The other one must be empty. */
    private static function signedText($method, $query, $body, $type): string
    {
        if (in_array($method, ['GET', 'HEAD', 'DELETE', 'OPTIONS'], true) && $body === '') {
            return self::canonical($query);
        }
        $isSigned = $query === '' && in_array($method, ['POST', 'PUT', 'PATCH'], true);
        self::require($isSigned, 'Version 1 signs a query or a body, by the method. Use version 2.');
        $isPlain = preg_match('//u', $body) === 1 && !str_starts_with($body, "\u{FEFF}");
        self::require($isPlain, 'A signed body must be UTF-8 without a byte order mark.');
        $mediaType = strtolower(trim(explode(';', $type)[0]));
        return $mediaType === 'application/x-www-form-urlencoded' ? self::canonical($body) : $body;
    }

    private static function canonical(string $query): string
    {
        $values = [];
        foreach (array_filter(explode('&', $query), fn ($pair) => $pair !== '') as $pair) {
            [$key, $value] = array_map(self::decode(...), explode('=', $pair, 2) + [1 => '']);
            $isClear = $key !== '' && !str_contains($key, '=') && !str_contains($key . $value, '&');
            self::require($isClear, 'A key is empty, or a decoded parameter contains & or =.');
            // The prefix keeps PHP from turning keys such as 1 into numbers.
            $values["k$key"][] = $value;
        }
        ksort($values, SORT_STRING);
        $join = fn ($key) => substr($key, 1) . '=' . implode(',', $values[$key]);
        return implode('&', array_map($join, array_keys($values)));
    }

    private static function decode(string $text): string
    {
        self::require(preg_match('/%(?![0-9A-Fa-f]{2})/', $text) === 0, 'Invalid percent-encoding.');
        $decoded = urldecode($text);
        self::require(preg_match('/\p{Cc}/u', $decoded) === 0, 'A parameter is not UTF-8 text.');
        return $decoded;
    }

    private static function require(bool $condition, string $message): void
    {
        $condition || throw new RefusedRequest($message);
    }
}

final class SignedRequest
{
    /** @param array<string, string> $headers to send with the request */
    public function __construct(
        private readonly GatehouseSigner $signer,
        public readonly array $headers,
    ) {}

    /** @param array<string, string> $headers of the reply, by names in lower case */
    public function verify(int $status, array $headers, string $body): void
    {
        [$isVersion1, $timestamp] = [$this->signer->version === 1, $headers['x-timestamp'] ?? ''];
        $lines = ['GATEHOUSE-V2-REPLY', $status, $this->headers['X-Nonce'] ?? '',
            hash('sha256', $body), $timestamp];
        $expected = $isVersion1 ? $this->signer->digest($body, $timestamp) : $this->signer->hmac($lines);
        $presented = strtolower($headers[$isVersion1 ? 'x-sign' : 'x-sign-v2'] ?? '');
        $isReply = !$isVersion1 || ($this->isTimely($timestamp) && self::isEnvelope($status, $body));
        if (!hash_equals($expected, $presented) || !$isReply) {
            throw new UnverifiedReply('The reply is not signed by the gateway.');
        }
    }

    private function isTimely(string $timestamp): bool
    {
        return preg_match('/\A[1-9][0-9]{12}\z/', $timestamp) === 1
            && abs((int) $timestamp - (int) $this->headers['X-Timestamp']) <= 300_000;
    }

    /** Tells replies from requests, because version 1 signs both alike. */
    private static function isEnvelope(int $status, string $body): bool
    {
        $value = json_decode($body);
        return is_object($value) && ($value->status ?? null) === $status
            && is_string($value->code ?? null) && is_string($value->message ?? null)
            && (is_int($value->timestamp ?? null) || is_float($value->timestamp ?? null));
    }
}
