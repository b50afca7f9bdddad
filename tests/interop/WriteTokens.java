import java.io.*;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.*;

/** WriteTokens PATH {SERVICE TOKEN}.. : a file of Hadoop's tokens, as HADOOP_TOKEN_FILE_LOCATION names one, with one of another kind in it; PATH.protobuf has the same. */
public class WriteTokens {
  public static void main(String[] a) throws Exception {
    Credentials credentials = new Credentials();
    credentials.addToken(new Text("hdfs"), new Token<TokenIdentifier>(new byte[] {1, 2}, new byte[200], new Text("HDFS_DELEGATION_TOKEN"), new Text("nn:8020")));
    for (int i = 1; i < a.length; i += 2) {
      Token<TokenIdentifier> token = new Token<>();
      token.decodeFromUrlString(a[i + 1]);
      token.setService(new Text(a[i]));
      credentials.addToken(new Text("alias " + i), token);
    }
    credentials.addSecretKey(new Text("key"), new byte[] {3});
    try (DataOutputStream out = new DataOutputStream(new FileOutputStream(a[0]))) { credentials.writeTokenStorageToStream(out); }
    try (DataOutputStream out = new DataOutputStream(new FileOutputStream(a[0] + ".protobuf"))) {
      credentials.writeTokenStorageToStream(out, Credentials.SerializedFormat.PROTOBUF);
    }
  }
}
