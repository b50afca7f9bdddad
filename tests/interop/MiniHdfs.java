import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Two name nodes and a data node of a mini cluster in one process: MiniHdfs FOLDER NAME [KEY=VALUE ..].
 * Prints "ready A B", the name nodes' ports; then does what each line of its input says, and prints "done" or "failed ..".
 * It ends when its input does.
 */
public class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    for (int i = 2; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      conf.set(pair[0], pair[1]);
    }
    UserGroupInformation.setConfiguration(conf);
    MiniDFSNNTopology topology =
        new MiniDFSNNTopology()
            .addNameservice(
                new MiniDFSNNTopology.NSConf(arguments[1])
                    .addNN(new MiniDFSNNTopology.NNConf("nn1"))
                    .addNN(new MiniDFSNNTopology.NNConf("nn2")));
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf, new File(arguments[0]))
            .nnTopology(topology)
            .numDataNodes(1)
            .build();
    cluster.waitActive();
    cluster.transitionToActive(0);
    System.out.println("ready " + cluster.getNameNodePort(0) + " " + cluster.getNameNodePort(1));
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      try {
        run(cluster, line.split(" "));
        System.out.println("done");
      } catch (Exception error) {
        System.out.println("failed " + error);
      }
    }
    cluster.shutdown();
    System.exit(0);
  }

  private static void run(MiniDFSCluster cluster, String[] words) throws Exception {
    int node = words.length > 1 ? Integer.parseInt(words[1]) : 0;
    switch (words[0]) {
      case "active" -> {
        if (cluster.isNameNodeUp(1 - node)) {
          cluster.transitionToStandby(1 - node);
        }
        cluster.transitionToActive(node);
      }
      case "reset" -> {
        for (int i = 0; i < 2; i++) {
          if (!cluster.isNameNodeUp(i)) {
            cluster.restartNameNode(i, false);
          }
        }
        run(cluster, new String[] {"active", "0"});
      }
      case "kill" -> cluster.shutdownNameNode(node);
      case "start" -> cluster.restartNameNode(node, false);
      case "restart-data-node" -> {
        cluster.restartDataNode(0, true);
        cluster.waitActive();
      }
      default -> throw new IllegalArgumentException(words[0]);
    }
  }
}
