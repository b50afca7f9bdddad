import java.net.ConnectException;
import java.net.Socket;
import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.conf.Configuration;

/** SecuredHms WAREHOUSE DERBY {PORT [key=value]..  --}.. : metastores on the loopback, one database behind them, each with settings of its own. */
public class SecuredHms {
  public static void main(String[] a) throws Exception {
    Path warehouse = Paths.get(a[0]).toAbsolutePath(), db = Paths.get(a[1]).toAbsolutePath();
    Files.createDirectories(warehouse);
    List<String> rest = new ArrayList<>(Arrays.asList(a).subList(2, a.length));
    while (!rest.isEmpty()) {
      int end = rest.indexOf("--");
      start(warehouse, db, new ArrayList<>(rest.subList(0, end)));
      rest = rest.subList(end + 1, rest.size());
    }
    System.out.println("serving");
    System.in.read(); // until whoever has started it ends
    Runtime.getRuntime().halt(0);
  }

  static void start(Path warehouse, Path db, List<String> given) throws Exception {
    int port = Integer.parseInt(given.remove(0));
    Configuration c = (Configuration) Class.forName("org.apache.hadoop.hive.metastore.conf.MetastoreConf").getMethod("newMetastoreConf").invoke(null);
    boolean v4 = org.apache.hive.common.util.HiveVersionInfo.getVersion().startsWith("4");
    HiveSql.baseConf(c, warehouse, db, Files.createTempDirectory(db.getParent(), "hms"), null, "mr", v4);
    c.set("metastore.thrift.bind.host", "127.0.0.1");
    c.set("hive.metastore.thrift.bind.host", "127.0.0.1");
    c.set("hive.metastore.transactional.event.listeners", "");
    for (String one : given) c.set(one.substring(0, one.indexOf('=')), one.substring(one.indexOf('=') + 1));
    if ("kerberos".equals(c.get("hadoop.security.authentication"))) org.apache.hadoop.security.UserGroupInformation.setConfiguration(c);
    Object bridge = Class.forName("org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge").getMethod("getBridge").invoke(null);
    Thread service = new Thread(() -> {
      try {
        for (java.lang.reflect.Method m : Class.forName("org.apache.hadoop.hive.metastore.HiveMetaStore").getMethods())
          if (m.getName().equals("startMetaStore") && m.getParameterCount() == 3 && m.getParameterTypes()[2] == Configuration.class)
            m.invoke(null, port, bridge, c);
      } catch (Throwable e) { e.printStackTrace(); }
      Runtime.getRuntime().halt(3);
    });
    service.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    service.setDaemon(true);
    service.start();
    for (int i = 0; ; i++) {
      try (Socket s = new Socket("127.0.0.1", port)) { break; } catch (ConnectException e) { if (i > 1200) throw e; Thread.sleep(50); }
    }
  }
}
