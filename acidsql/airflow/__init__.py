"""The door for Airflow 3: a hook over ``dbapi``, for which the SQL operators of the common provider
are enough. ``provider`` is read by every process of Airflow, and imports nothing.
"""
