import java.io.*;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.*;

/** WriteTokens PATH PROTOBUF? {SERVICE TOKEN}.. : a file of Hadoop's tokens, as HADOOP_TOKEN_FILE_LOCATION names one, with one of another kind in it. */
public class WriteTokens {
  public static void main(String[] a) throws Exception {
    Credentials credentials = new Credentials();
    credentials.addToken(new Text("hdfs"), new Token<TokenIdentifier>(new byte[] {1, 2}, new byte[200], new Text("HDFS_DELEGATION_TOKEN"), new Text("nn:8020")));
    for (int i = 2; i < a.length; i += 2) {
      Token<TokenIdentifier> token = new Token<>();
      token.decodeFromUrlString(a[i + 1]);
      token.setService(new Text(a[i]));
      credentials.addToken(new Text("alias " + i), token);
    }
    credentials.addSecretKey(new Text("key"), new byte[] {3});
    try (DataOutputStream out = new DataOutputStream(new FileOutputStream(a[0]))) {
      if (Boolean.parseBoolean(a[1])) credentials.writeTokenStorageToStream(out, Credentials.SerializedFormat.PROTOBUF);
      else credentials.writeTokenStorageToStream(out);
    }
  }
}
