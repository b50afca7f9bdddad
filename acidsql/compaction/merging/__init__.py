"""A compaction itself: which directories it takes, the merge of their events, and its outputs'
names.
"""
