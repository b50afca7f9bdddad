import java.io.File;
import java.io.FileOutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A resource manager and two node managers of a mini cluster: MiniYarn FILE. Prints "ready" once the
 * nodes are there and FILE has the addresses that a client needs. It ends when its input does.
 */
public class MiniYarn {
  private static final String[] ADDRESSES = {"", ".scheduler", ".resource-tracker", ".admin", ".webapp"};

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set("yarn.scheduler.minimum-allocation-mb", "256");
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
    conf.set("yarn.nodemanager.disk-health-checker.enable", "false");
    MiniYARNCluster cluster = new MiniYARNCluster("yarn", 2, 1, 1);
    cluster.init(conf);
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(60_000)) {
      throw new IllegalStateException("the nodes do not come");
    }
    Configuration client = new Configuration(false);
    for (String name : ADDRESSES) {
      String key = "yarn.resourcemanager" + name + ".address";
      client.set(key, cluster.getConfig().get(key));
    }
    try (FileOutputStream file = new FileOutputStream(new File(arguments[0]))) {
      client.writeXml(file);
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {
      // nothing is to be said to it
    }
    cluster.stop();
    System.exit(0);
  }
}
