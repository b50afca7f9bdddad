/** HiveSql's arguments: runs its script, and serves the same metastore on the loopback port -Dserved.port while it does. */
public class ServedHive {
  public static void main(String[] a) throws Exception {
    String port = System.getProperty("served.port");
    String warehouse = HiveSql.opt(a, "--warehouse", null), metastore = HiveSql.opt(a, "--metastore", null);
    Thread service = new Thread(() -> {
      try { Hms.main(new String[] {port, warehouse, metastore}); } catch (Exception e) { e.printStackTrace(); Runtime.getRuntime().halt(3); }
    });
    service.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    service.setDaemon(true);
    service.start();
    for (int i = 0; ; i++) {
      try (java.net.Socket s = new java.net.Socket("127.0.0.1", Integer.parseInt(port))) { break; }
      catch (java.net.ConnectException e) { if (i > 1200) throw e; Thread.sleep(100); }
    }
    HiveSql.main(a);
  }
}
