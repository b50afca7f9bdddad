import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.common.ValidReaderWriteIdList;
import org.apache.hadoop.hive.ql.io.AcidInputFormat;
import org.apache.hadoop.hive.ql.io.RecordIdentifier;
import org.apache.hadoop.hive.ql.io.orc.OrcInputFormat;
import org.apache.hadoop.hive.ql.io.orc.OrcStruct;

/**
 * Merges the events of ACID version 1 with Hive's own OrcRawRecordMerger, as a major compaction does. Each line of the
 * input is a directory, its write ids and a bucket; of each the rows, and a line "done".
 */
public class RawMerger {
  public static void main(String[] args) throws Exception {
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = input.readLine()) != null; ) {
      String[] words = line.split("\t");
      merge(words[0], words[1], Integer.parseInt(words[2]));
      System.out.println("done");
    }
  }

  static void merge(String directory, String writeIds, int bucket) throws Exception {
    Configuration conf = new Configuration(false);
    conf.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem");
    for (String prefix : new String[] {"", "schema.evolution."}) {
      conf.set(prefix + "columns", "id,name");
      conf.set(prefix + "columns.types", "int:string");
    }
    conf.set("transactional", "true");
    Path base = null;
    List<Path> deltas = new ArrayList<>();
    File[] found = new File(directory).listFiles();
    Arrays.sort(found);
    for (File file : found) {
      Path path = new Path("file:" + file);
      if (file.getName().startsWith("base_")) base = path;
      else if (file.getName().startsWith("delta_")) deltas.add(path);
    }
    AcidInputFormat.RawReader<OrcStruct> reader =
        new OrcInputFormat().getRawReader(
            conf, true, bucket, new ValidReaderWriteIdList(writeIds), base, deltas.toArray(new Path[0]));
    RecordIdentifier id = reader.createKey();
    OrcStruct event = reader.createValue();
    while (reader.next(id, event))
      if (!reader.isDelete(event))
        System.out.println(
            "row\t" + id.getWriteId() + "\t" + id.getBucketProperty() + "\t" + id.getRowId() + "\t" + row(event));
    reader.close();
  }

  /** The values of an event, which OrcStruct prints last: {operation, .., {id, name}}. */
  static String row(OrcStruct event) {
    String text = event.toString();
    return text.substring(text.lastIndexOf('{') + 1, text.indexOf('}', text.lastIndexOf('{')));
  }
}
