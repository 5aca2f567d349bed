import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** For the tests: reads jobs, one a line, and prints a signature, refused, valid or invalid. */
public class Driver {
  private final String[] words;

  private Driver(String[] words) {
    this.words = words;
  }

  private byte[] bytes(int index) {
    return HexFormat.of().parseHex(words[index]);
  }

  private String text(int index) {
    return words[index].equals("-") ? null : new String(bytes(index), StandardCharsets.UTF_8);
  }

  private String answer() {
    boolean isVersion1 = text(0).equals("1");
    GatehouseSigner signer = new GatehouseSigner(text(2), text(3), isVersion1 ? text(1) : null);
    String target = text(6).isEmpty() ? text(5) : text(5) + "?" + text(6);
    GatehouseSigner.Signed signed;
    try {
      signed = signer.sign(text(4), target, bytes(8), text(7), text(9), text(10));
    } catch (IllegalArgumentException error) {
      return "refused";
    }
    if (words.length == 11) return signed.headers.get(isVersion1 ? "X-Sign" : "X-Sign-V2");
    try {
      signed.verify(Integer.parseInt(text(11)), text(12), text(13), bytes(14));
      return "valid";
    } catch (SecurityException error) {
      return "invalid";
    }
  }

  public static void main(String[] arguments) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      System.out.println(new Driver(line.split("\t", -1)).answer());
    }
  }
}
