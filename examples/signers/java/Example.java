import java.net.URI;
import java.net.URLEncoder;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Lists devices, creates one and searches for it. Every reply is verified.
 *
 * <p>GATEWAY_URL=… CLIENT_ID=… SECURE_KEY=… DEVICE_ID=… java Example [version [digest]]
 */
public class Example {
  // Otherwise the client offers h2c, and the gateway closes the connection after the reply.
  static final HttpClient HTTP = HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10)).build();
  static final String GATEWAY = setting("GATEWAY_URL").replaceFirst("/+$", "");

  static String setting(String name) {
    String value = System.getenv(name);
    if (value == null || value.isEmpty()) fail("Set " + name + ".");
    return value;
  }

  static void fail(String text) {
    System.err.println(text);
    System.exit(1);
  }

  static void call(GatehouseSigner signer, String method, String target, String body)
      throws Exception {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String contentType = body.isEmpty() ? "" : "application/json";
    GatehouseSigner.Signed signed = signer.sign(method, target, bytes, contentType);
    URI uri = URI.create(GATEWAY + target);
    HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(10));
    signed.headers.forEach(request::header);
    request.method(method, body.isEmpty() ? HttpRequest.BodyPublishers.noBody()
        : HttpRequest.BodyPublishers.ofByteArray(bytes));
    HttpResponse<byte[]> reply =
        HTTP.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    String line = reply.statusCode() + " " + new String(reply.body(), StandardCharsets.UTF_8);
    HttpHeaders headers = reply.headers();
    String timestamp = headers.firstValue("X-Timestamp").orElse(null);
    String name = signed.headers.containsKey("X-Sign") ? "X-Sign" : "X-Sign-V2";
    String signature = headers.firstValue(name).orElse(null);
    try {
      signed.verify(reply.statusCode(), timestamp, signature, reply.body());
    } catch (SecurityException error) {
      // The reply may name a mistake of this program. Print it, but do not act on it.
      fail(line + "\n" + error.getMessage());
    }
    System.out.println(line);
  }

  public static void main(String[] arguments) throws Exception {
    boolean isVersion1 = arguments.length > 0 && arguments[0].equals("1");
    String digest = !isVersion1 ? null : arguments.length > 1 ? arguments[1] : "SHA-256";
    GatehouseSigner signer =
        new GatehouseSigner(setting("CLIENT_ID"), setting("SECURE_KEY"), digest);
    String deviceId = setting("DEVICE_ID");
    try {
      run(signer, deviceId);
    } catch (java.io.IOException error) {
      fail("No reply: " + error);
    }
  }

  static void run(GatehouseSigner signer, String deviceId) throws Exception {
    String name = "Pump \u5f20\u4e09 1+1";
    call(signer, "GET", "/api/device?pageSize=20&pageIndex=0", "");
    String device = "{\"id\":\"%s\",\"name\":\"%s\",\"productId\":\"p1\",\"productName\":\"P 1\"}";
    call(signer, "POST", "/device-instance", device.formatted(deviceId, name));
    String where = URLEncoder.encode("name like \"%" + name + "%\"", StandardCharsets.UTF_8);
    call(signer, "GET", "/device/instance/_query?pageSize=20&where=" + where, "");
  }
}
