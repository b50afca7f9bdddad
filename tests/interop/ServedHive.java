import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.conf.Configuration;
/**
 * HiveSql's arguments: runs its script, and serves the same metastore on the loopback port -Dserved.port while it does.
 * -Dserved.warehouse: the URL of a warehouse that is not the directory --warehouse.
 */
public class ServedHive {
  public static void main(String[] a) throws Exception {
    String port = System.getProperty("served.port");
    String warehouse = HiveSql.opt(a, "--warehouse", null), metastore = HiveSql.opt(a, "--metastore", null);
    Thread service = new Thread(() -> {
      try { serve(Integer.parseInt(port), warehouse, metastore); } catch (Exception e) { e.printStackTrace(); Runtime.getRuntime().halt(3); }
    });
    service.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    service.setDaemon(true);
    service.start();
    for (int i = 0; ; i++) {
      try (java.net.Socket s = new java.net.Socket("127.0.0.1", Integer.parseInt(port))) { break; }
      catch (java.net.ConnectException e) { if (i > 1200) throw e; Thread.sleep(100); }
    }
    HiveSql.main(url == null ? a : withWarehouse(a));
  }

  static final String url = System.getProperty("served.warehouse");
  static final String[] PLACES = {"hive.metastore.warehouse.dir", "hive.metastore.warehouse.external.dir"};

  static void serve(int port, String warehouse, String metastore) throws Exception {
    if (url == null) { Hms.main(new String[] {"" + port, warehouse, metastore}); return; }
    Configuration c = (Configuration) Class.forName("org.apache.hadoop.hive.metastore.conf.MetastoreConf").getMethod("newMetastoreConf").invoke(null);
    boolean v4 = org.apache.hive.common.util.HiveVersionInfo.getVersion().startsWith("4");
    HiveSql.baseConf(c, Paths.get(warehouse).toAbsolutePath(), Paths.get(metastore).toAbsolutePath(), Files.createTempDirectory("hms"), null, "mr", v4);
    for (String place : PLACES) c.set(place, url);
    c.set("metastore.thrift.bind.host", "127.0.0.1");
    c.set("hive.metastore.thrift.bind.host", "127.0.0.1");
    c.set("metastore.txn.use.minhistorylevel", "true");
    c.set("hive.metastore.transactional.event.listeners", "");
    Class<?> bridge = Class.forName("org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge");
    for (java.lang.reflect.Method m : Class.forName("org.apache.hadoop.hive.metastore.HiveMetaStore").getMethods())
      if (m.getName().equals("startMetaStore") && m.getParameterCount() == 3 && m.getParameterTypes()[2] == Configuration.class)
        m.invoke(null, port, bridge.getMethod("getBridge").invoke(null), c);
  }

  static String[] withWarehouse(String[] a) {
    List<String> all = new ArrayList<>(Arrays.asList(a).subList(0, a.length - 1));
    for (String place : PLACES) all.addAll(List.of("--conf", place + "=" + url));
    all.add(a[a.length - 1]);
    return all.toArray(new String[0]);
  }
}
