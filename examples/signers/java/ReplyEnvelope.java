import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Tells replies from requests, because version 1 signs both alike. Java has no JSON parser. */
final class ReplyEnvelope {
  private static final String TEXT = "\"(?:[^\"\\\\]|\\\\.)*+\"";
  private static final String NUMBER = "-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?";

  private ReplyEnvelope() {}

  /** Whether a body is an object with this status, `code`, `message` and `timestamp`. */
  static boolean matches(int status, byte[] body) {
    Map<String, String> members = membersOf(new String(body, StandardCharsets.UTF_8).trim());
    return members.getOrDefault("status", "").equals("" + status)
        && members.getOrDefault("code", "").matches(TEXT)
        && members.getOrDefault("message", "").matches(TEXT)
        && members.getOrDefault("timestamp", "").matches(NUMBER);
  }

  /** The members of an object with their values as JSON. Empty if the text is not an object. */
  private static Map<String, String> membersOf(String json) {
    Map<String, String> members = new HashMap<>();
    int depth = 0, start = 1, colon = -1;
    for (int at = 0; at < json.length(); at++) {
      char c = json.charAt(at);
      if (at == 0 && c != '{') return Map.of();
      if (c == '"') {
        for (at++; at < json.length() && json.charAt(at) != '"'; at++) {
          if (json.charAt(at) == '\\') at++;
        }
      }
      if (c == '{' || c == '[') depth++;
      if (c == '}' || c == ']') depth--;
      if (c == ':' && depth == 1 && colon < 0) colon = at;
      boolean isEnd = depth == 0 && at == json.length() - 1;
      if (depth == 0 && !isEnd) return Map.of();
      if (isEnd || c == ',' && depth == 1) {
        if (colon < 0) return Map.of();
        String name = json.substring(start, colon).trim();
        if (!name.matches("\"[^\"]*\"")) return Map.of();
        members.put(name.substring(1, name.length() - 1), json.substring(colon + 1, at).trim());
        start = at + 1;
        colon = -1;
      }
    }
    return depth == 0 ? members : Map.of();
  }
}
