<?php
// For the tests: reads jobs, one a line, and prints a signature, refused, valid or invalid.
declare(strict_types=1);
require __DIR__ . '/GatehouseSigner.php';

function answer(array $fields): string
{
    [$version, $digest, $clientId, $key, $method, $path, $query, $type] = $fields;
    [$body, $timestamp, $nonce] = array_slice($fields, 8);
    $signer = new GatehouseSigner($clientId, $key, (int) $version, $digest ?: 'SHA-256');
    $target = $query === '' ? $path : "$path?$query";
    try {
        $request = $signer->sign($method, $target, $body, $type, $timestamp, $nonce);
    } catch (RefusedRequest) {
        return 'refused';
    }
    $name = $version === '1' ? 'X-Sign' : 'X-Sign-V2';
    if (count($fields) === 11) {
        return $request->headers[$name];
    }
    $headers = ['x-timestamp' => $fields[12], strtolower($name) => $fields[13]];
    try {
        $request->verify((int) $fields[11], array_filter($headers, is_string(...)), $fields[14]);
    } catch (UnverifiedReply) {
        return 'invalid';
    }
    return 'valid';
}

while (($line = fgets(STDIN)) !== false) {
    $words = explode("\t", rtrim($line, "\n"));
    echo answer(array_map(fn ($word) => $word === '-' ? null : hex2bin($word), $words)), "\n";
}
