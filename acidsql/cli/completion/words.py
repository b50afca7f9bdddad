"""Words that are offered in queries and expressions, which the grammar takes as they are."""

QUERY_WORDS = tuple(
    "AND ANTI AS ASC BETWEEN BY CASE CAST CROSS CURRENT DESC DISTINCT ELSE END EXCEPT EXISTS FALSE"
    " FOLLOWING FROM FULL GROUP HAVING IN INNER INTERSECT INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT"
    " NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING RANGE RIGHT RLIKE ROW ROWS"
    " ROW__ID SELECT SEMI SET THEN TRUE UNBOUNDED UNION USING VALUES VIEW WHEN WHERE WINDOW"
    " WITH".split()
)

FUNCTIONS = tuple(
    "abs acos add_months approx_count_distinct array array_contains array_distinct array_join"
    " array_max array_min array_position array_remove array_sort array_union arrays_zip ascii asin"
    " atan atan2 avg base64 bin bit_and bit_or bit_xor bround cbrt ceil char_length coalesce"
    " collect_list collect_set concat concat_ws conv corr cos cosh count count_if covar_pop"
    " covar_samp crc32 cume_dist current_date current_timestamp current_user date_add date_format"
    " date_from_unix_date date_sub date_trunc datediff day dayofmonth dayofweek dayofyear decode"
    " degrees dense_rank element_at encode exp explode explode_outer expr factorial filter first"
    " first_value flatten floor format_number format_string from_json from_unixtime"
    " from_utc_timestamp get_json_object greatest hash hex hour ifnull initcap inline instr"
    " isnotnull isnull json_tuple kurtosis lag last last_day last_value lead least left length"
    " levenshtein ln"
    " locate log log10 log2 lower lpad ltrim make_date map_entries map_filter map_from_arrays"
    " map_keys map_values max max_by md5 mean median min min_by minute mode month months_between"
    " named_struct nanvl next_day now nth_value ntile nullif nvl nvl2 octet_length overlay"
    " parse_url percent_rank percentile percentile_approx pmod posexplode position pow quarter"
    " radians rand rank regexp_extract regexp_extract_all regexp_replace repeat replace reverse"
    " right rint round row_number rpad rtrim second sequence sha1 sha2 shuffle sign sin size"
    " skewness slice sort_array soundex split sqrt stack stddev stddev_pop stddev_samp struct"
    " substr substring substring_index sum tan to_date to_json to_timestamp to_utc_timestamp"
    " transform translate trim trunc try_add try_divide typeof unbase64 unhex unix_timestamp upper"
    " uuid var_pop var_samp variance weekofyear xxhash64 year".split()
)
"""The functions that are asked for most; Spark has more."""
