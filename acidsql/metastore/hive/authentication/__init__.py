"""Who we are to a Hive Metastore.

sasl.py      Thrift's SASL, and a password by it
kerberos.py  SASL's GSSAPI, and where tickets come from
digest.py    SASL's DIGEST-MD5
login.py     who is there, and where the secrets lie: the delegation tokens of Hadoop's files too
"""
