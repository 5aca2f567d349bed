<?php
/*
 * Lists devices, creates one and searches for it. Every reply is verified.
 *
 *   GATEWAY_URL=… CLIENT_ID=… SECURE_KEY=… DEVICE_ID=… php example.php [version [digest]]
 */
declare(strict_types=1);
require __DIR__ . '/GatehouseSigner.php';

function fail(string $text): never
{
    fwrite(STDERR, "$text\n");
    exit(1);
}

function setting(string $name): string
{
    return getenv($name) ?: fail("Set $name.");
}

define('GATEWAY', rtrim(setting('GATEWAY_URL'), '/'));
$signer = new GatehouseSigner(
    setting('CLIENT_ID'), setting('SECURE_KEY'), (int) ($argv[1] ?? 2), $argv[2] ?? 'SHA-256');
$deviceId = setting('DEVICE_ID');

function call(GatehouseSigner $signer, string $method, string $target, ?array $value = null): void
{
    $body = $value === null ? '' : json_encode($value);
    $request = $signer->sign($method, $target, $body, $value === null ? '' : 'application/json');
    $headers = [];
    foreach ($request->headers as $name => $text) {
        $headers[] = "$name: $text";
    }
    // By default, PHP sends the signature to every server that a redirect names.
    $context = stream_context_create(['http' => [
        'method' => $method, 'header' => $headers, 'content' => $body, 'ignore_errors' => true,
        'follow_location' => 0, 'timeout' => 10]]);
    $received = @file_get_contents(GATEWAY . $target, false, $context);
    if ($received === false) {
        fail('No reply.');
    }
    $status = (int) explode(' ', $http_response_header[0])[1];
    $replyHeaders = [];
    foreach (array_slice($http_response_header, 1) as $line) {
        [$name, $text] = explode(':', $line, 2);
        $replyHeaders[strtolower($name)] = trim($text);
    }
    try {
        $request->verify($status, $replyHeaders, $received);
    } catch (UnverifiedReply $error) {
        // The reply may name a mistake of this program. Print it, but do not act on it.
        fail("$status $received\n{$error->getMessage()}");
    }
    echo "$status $received\n";
}

$name = 'Pump 张三 1+1';
call($signer, 'GET', '/api/device?pageSize=20&pageIndex=0');
call($signer, 'POST', '/device-instance',
    ['id' => $deviceId, 'name' => $name, 'productId' => 'p1', 'productName' => 'P 1']);
$query = http_build_query(['where' => "name like \"%$name%\"", 'pageSize' => 20]);
call($signer, 'GET', "/device/instance/_query?$query");
