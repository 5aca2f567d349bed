import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.*;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs requests to Gatehouse and verifies its replies (docs/signing.md). Java 17 or later. */
public final class GatehouseSigner {
  private static final Pattern TIMESTAMP = Pattern.compile("[1-9][0-9]{12}");
  private static final Pattern NONCE = Pattern.compile("[A-Za-z0-9_-]{16,64}");
  private static final long TOLERANCE_MILLISECONDS = 300_000;
  private static final SecureRandom RANDOM = new SecureRandom();
  private final String clientId, secureKey, digest;

  /** @param digest null for version 2, or the algorithm of version 1: SHA-256 or MD5 */
  public GatehouseSigner(String clientId, String secureKey, String digest) {
    boolean isDigest = digest == null || digest.equals("SHA-256") || digest.equals("MD5");
    require(isDigest, "The digest is SHA-256 or MD5, or null for version 2.");
    this.clientId = clientId;
    this.secureKey = secureKey;
    this.digest = digest;
  }

  /** In version 1, two equal requests in one millisecond have the same signature. */
  public Signed sign(String method, String target, byte[] body, String contentType) {
    byte[] random = new byte[18];
    RANDOM.nextBytes(random);
    String nonce = Base64.getUrlEncoder().encodeToString(random);
    return sign(method, target, body, contentType, "" + System.currentTimeMillis(), nonce);
  }

  /** @throws IllegalArgumentException if the gateway would reject the request */
  public Signed sign(String method, String target, byte[] body, String contentType,
      String timestamp, String nonce) {
    require(TIMESTAMP.matcher(timestamp).matches(), "The timestamp needs 13 digits.");
    String[] parts = target.split("\\?", 2);
    String query = parts.length == 1 ? "" : parts[1];
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("X-Client-Id", clientId);
    headers.put("X-Timestamp", timestamp);
    if (!contentType.isEmpty()) headers.put("Content-Type", contentType);
    if (digest != null) {
      headers.put("X-Sign", digest(SignedText.of(method, query, body, contentType), timestamp));
      return new Signed(headers);
    }
    require(NONCE.matcher(nonce).matches(), "The nonce needs 16 to 64 characters of Base64url.");
    String[] lines = {"GATEHOUSE-V2", method, parts[0], query, contentType, hash("SHA-256", body),
        clientId, timestamp, nonce};
    require(!String.join("", lines).contains("\n"), "No part may contain a line feed.");
    headers.put("X-Nonce", nonce);
    headers.put("X-Sign-V2", hmac(lines));
    return new Signed(headers);
  }

  /** A signed request. Send it with these headers, then verify the reply. */
  public final class Signed {
    public final Map<String, String> headers;

    private Signed(Map<String, String> headers) {
      this.headers = headers;
    }

    /**
     * @param signature X-Sign-V2 in version 2, X-Sign in version 1, null if missing
     * @throws SecurityException if the gateway did not sign this reply for this request
     */
    public void verify(int status, String timestamp, String signature, byte[] body) {
      String repliedAt = timestamp == null ? "" : timestamp;
      String expected = digest != null ? digest(body, repliedAt) : hmac("GATEHOUSE-V2-REPLY",
          "" + status, headers.get("X-Nonce"), hash("SHA-256", body), repliedAt);
      String presented = signature == null ? "" : signature.toLowerCase(Locale.ROOT);
      boolean isReply = digest == null
          || isTimely(repliedAt) && ReplyEnvelope.matches(status, body);
      if (!MessageDigest.isEqual(utf8(expected), utf8(presented)) || !isReply) {
        throw new SecurityException("The reply is not signed by the gateway.");
      }
    }

    private boolean isTimely(String timestamp) {
      if (!TIMESTAMP.matcher(timestamp).matches()) return false;
      long difference = Long.parseLong(timestamp) - Long.parseLong(headers.get("X-Timestamp"));
      return Math.abs(difference) <= TOLERANCE_MILLISECONDS;
    }
  }

  private String digest(byte[] text, String timestamp) {
    byte[] end = utf8(timestamp + secureKey);
    byte[] all = ByteBuffer.allocate(text.length + end.length).put(text).put(end).array();
    return hash(digest, all);
  }

  private String hmac(String... lines) {
    return hash("HmacSHA256", utf8(String.join("\n", lines)));
  }

  private String hash(String algorithm, byte[] bytes) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(utf8(secureKey), "HmacSHA256"));
      return HexFormat.of().formatHex(algorithm.equals("HmacSHA256") ? mac.doFinal(bytes)
          : MessageDigest.getInstance(algorithm).digest(bytes));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void require(boolean condition, String message) {
    if (!condition) throw new IllegalArgumentException(message);
  }
}
