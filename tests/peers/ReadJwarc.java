import java.io.InputStream;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Optional;
import org.netpreserve.jwarc.WarcPayload;
import org.netpreserve.jwarc.WarcReader;
import org.netpreserve.jwarc.WarcRecord;
import org.netpreserve.jwarc.WarcRevisit;
import org.netpreserve.jwarc.WarcTargetRecord;

/** Every record of a WARC as jwarc reads it, a line each: type, SHA-1 of the payload, digest, URL. */
public class ReadJwarc {
    public static void main(String[] words) throws Exception {
        try (WarcReader reader = new WarcReader(Path.of(words[0]))) {
            reader.calculateBlockDigest();
            for (WarcRecord record : reader) {
                String url = "";
                MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
                InputStream body = record.body().stream();
                if (record instanceof WarcTargetRecord) {
                    url = ((WarcTargetRecord) record).target();
                    Optional<WarcPayload> payload = ((WarcTargetRecord) record).payload();
                    body = payload.isPresent() ? payload.get().body().stream() : body;
                }
                if (record instanceof WarcRevisit) {
                    body.readAllBytes(); // An HTTP head: it has no payload of its own.
                }
                sha1.update(body.readAllBytes());
                boolean right = record.blockDigest().equals(record.calculatedBlockDigest());
                System.out.println(record.type() + " " + HexFormat.of().formatHex(sha1.digest())
                        + " " + right + " " + url);
            }
        }
    }
}
