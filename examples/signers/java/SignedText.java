import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What version 1 signs. */
final class SignedText {
  private static final Pattern PERCENT = Pattern.compile("%(?![0-9A-Fa-f]{2})");

  private SignedText() {}

  /**
   * The query or the body. The other one must be empty.
   *
   * @throws IllegalArgumentException if two parsers could read the text differently
   */
  static byte[] of(String method, String query, byte[] body, String contentType) {
    if (Set.of("GET", "HEAD", "DELETE", "OPTIONS").contains(method) && body.length == 0) {
      return utf8(canonical(query));
    }
    boolean isSigned = query.isEmpty() && Set.of("POST", "PUT", "PATCH").contains(method);
    require(isSigned, "Version 1 signs a query or a body, by the method. Use version 2.");
    String text = text(body);
    require(!text.startsWith("\ufeff"), "A signed body must not begin with a byte order mark.");
    String mediaType = contentType.split(";", 2)[0].trim().toLowerCase(Locale.ROOT);
    return mediaType.equals("application/x-www-form-urlencoded") ? utf8(canonical(text)) : body;
  }

  private static String canonical(String query) {
    // Strings compare by UTF-16 units. The gateway sorts by the bytes of UTF-8.
    Map<String, List<String>> values = new TreeMap<>(
        (left, right) -> Arrays.compareUnsigned(utf8(left), utf8(right)));
    for (String pair : query.split("&")) {
      if (pair.isEmpty()) continue;
      String[] parts = pair.split("=", 2);
      String key = decode(parts[0]), value = parts.length == 1 ? "" : decode(parts[1]);
      boolean isClear = !key.isEmpty() && !key.contains("=") && !(key + value).contains("&");
      require(isClear, "A key is empty, or a decoded parameter contains & or =.");
      values.computeIfAbsent(key, unused -> new ArrayList<>()).add(value);
    }
    return values.entrySet().stream()
        .map(each -> each.getKey() + "=" + String.join(",", each.getValue()))
        .collect(Collectors.joining("&"));
  }

  /** Unlike URLDecoder, it rejects bytes that are not UTF-8. */
  private static String decode(String text) {
    require(!PERCENT.matcher(text).find(), "Invalid percent-encoding.");
    byte[] bytes = utf8(text.replace('+', ' '));
    int length = 0;
    for (int at = 0; at < bytes.length; at++, length++) {
      bytes[length] = bytes[at];
      if (bytes[at] == '%') {
        bytes[length] =
            (byte) (Character.digit(bytes[++at], 16) * 16 + Character.digit(bytes[++at], 16));
      }
    }
    String decoded = text(Arrays.copyOf(bytes, length));
    boolean hasControl = decoded.chars().anyMatch(Character::isISOControl);
    require(!hasControl, "A parameter contains a control character.");
    return decoded;
  }

  private static String text(byte[] utf8) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString();
    } catch (CharacterCodingException error) {
      throw new IllegalArgumentException("A signed text must be UTF-8.", error);
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void require(boolean condition, String message) {
    if (!condition) throw new IllegalArgumentException(message);
  }
}
