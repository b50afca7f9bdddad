"""The Hive ACID v2 format: names, ids, codecs, visibility. Pure: bytes and names in, values out."""
