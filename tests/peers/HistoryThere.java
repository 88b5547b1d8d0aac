package org.archive.modules.recrawl.hbase;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.Map;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;
import org.archive.modules.CrawlURI;
import org.archive.modules.recrawl.RecrawlAttributeConstants;
import org.archive.modules.revisit.IdenticalPayloadDigestRevisit;
import org.archive.net.UURIFactory;
import org.archive.uid.UUIDGenerator;

/**
 * Reads lines of a SHA-1 in hex and an f:c cell, and prints the key, how a revisit names the record, the id of a
 * record of its own, and the cell Heritrix writes of it.
 */
public class HistoryThere {
    public static void main(String[] words) throws Exception {
        // Its HBase client knows no Java newer than 8 by its version.
        System.setProperty("java.version", "1.8.0");
        HBaseContentDigestHistory history = new HBaseContentDigestHistory();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split(" ", 2);
            byte[] digest = new byte[20];
            for (int i = 0; i < 20; i++)
                digest[i] = (byte) Integer.parseInt(parts[0].substring(2 * i, 2 * i + 2), 16);
            CrawlURI uri = new CrawlURI(UURIFactory.getInstance("http://example.org/again"));
            uri.setContentDigest("sha1", digest);
            byte[] row = Bytes.toBytes("row");
            Cell cell = new KeyValue(row, Bytes.toBytes("f"), Bytes.toBytes("c"), Bytes.toBytes(parts[1]));
            Map<String, Object> known = history.parseHbaseResult(uri, Result.create(new Cell[] {cell}));
            uri.getContentDigestHistory().putAll(known);
            Put put = history.createHbasePut(uri);
            byte[] written = put.get(Bytes.toBytes("f"), Bytes.toBytes("c")).get(0).getValue();
            IdenticalPayloadDigestRevisit revisit = new IdenticalPayloadDigestRevisit("sha1:");
            revisit.setRefersToRecordID((String) known.get(RecrawlAttributeConstants.A_WARC_RECORD_ID));
            String named = (String) revisit.getWarcHeaders().get("WARC-Refers-To");
            URI own = new UUIDGenerator().getRecordID();
            System.out.println(Bytes.toString(put.getRow()) + " " + named + " " + own + " " + Bytes.toString(written));
        }
    }
}
