import java.io.*;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs one job of signing-mistakes.slow.test.ts per line, with Java's own URL encoding. */
public class Signer {
  static String plain(String text) {
    return text.replace("\\n", "\n").replace("\\r", "\r");
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] digest(String algorithm, byte[] text) throws Exception {
    return MessageDigest.getInstance(algorithm).digest(text);
  }

  static String hash(String text) throws Exception {
    return HexFormat.of().formatHex(digest("SHA-256", utf8(text)));
  }

  /** As a TreeMap is written without spaces. */
  static String json(List<String[]> pairs) {
    return pairs.stream().sorted(Comparator.comparing(pair -> pair[0]))
        .map(pair -> "\"" + pair[0] + "\":\"" + pair[1] + "\"")
        .collect(Collectors.joining(",", "{", "}"));
  }

  static String part(String spec) throws Exception {
    String text = plain(spec.substring(1));
    List<String[]> pairs = new ArrayList<>();
    for (String pair : text.split("&")) pairs.add(pair.split("=", 2));
    switch (spec.charAt(0)) {
      case 's': return pairs.stream().sorted(Comparator.comparing(pair -> pair[0]))
          .map(pair -> String.join("=", pair)).collect(Collectors.joining("&"));
      case 'u': return pairs.stream()
          .map(pair -> pair[0] + "=" + URLEncoder.encode(pair[1], StandardCharsets.UTF_8))
          .collect(Collectors.joining("&"));
      case 'j': return json(pairs);
      case 'h': return hash(text);
      case 'H': return hash(json(pairs));
      default: return text;
    }
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = lines.readLine()) != null; ) {
      String[] job = line.split("\t", -1);
      StringBuilder text = new StringBuilder();
      for (int i = 3; i < job.length; i++) text.append(part(job[i]));
      byte[] sum;
      if (job[0].equals("hmac")) {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(utf8(plain(job[2])), "HmacSHA256"));
        sum = mac.doFinal(utf8(text.toString()));
      } else {
        sum = digest(job[0].equals("sha256") ? "SHA-256" : job[0], utf8(text.toString()));
      }
      System.out.println(job[1].equals("hex") ? HexFormat.of().formatHex(sum)
          : (job[1].equals("base64") ? Base64.getEncoder() : Base64.getUrlEncoder()).encodeToString(sum));
    }
  }
}
