"""Words that are offered in queries and expressions, which the grammar takes as they are."""

from acidsql.expressions.vectors.functions import FUNCTIONS as KNOWN

QUERY_WORDS = tuple(
    "AND ANTI AS ASC BETWEEN BY CASE CAST CROSS CURRENT DESC DISTINCT ELSE END EXCEPT EXISTS FALSE"
    " FOLLOWING FROM FULL GROUP HAVING IN INNER INTERSECT INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT"
    " NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING RANGE RIGHT RLIKE ROW ROWS"
    " ROW__ID SELECT SEMI SET THEN TRUE UNBOUNDED UNION USING VALUES VIEW WHEN WHERE WINDOW"
    " WITH".split()
)

_OTHERS = (
    "acos approx_count_distinct array array_contains array_distinct array_join array_max"
    " array_min array_position array_remove array_sort array_union arrays_zip asin atan atan2"
    " avg bit_and bit_or bit_xor cbrt collect_list collect_set corr cos cosh count count_if"
    " covar_pop covar_samp cume_dist current_user decode degrees dense_rank element_at encode"
    " exp explode explode_outer factorial filter first first_value flatten from_json"
    " from_utc_timestamp get_json_object inline json_tuple kurtosis lag last last_value lead ln"
    " log log10 log2 map_entries map_filter map_from_arrays map_keys map_values max max_by mean"
    " median min min_by mode named_struct nanvl nth_value ntile octet_length parse_url"
    " percent_rank percentile percentile_approx posexplode radians rand rank regexp_extract_all"
    " rint row_number sequence shuffle sin size skewness slice sort_array stack stddev"
    " stddev_pop stddev_samp struct sum tan to_json to_utc_timestamp transform try_add"
    " try_divide typeof unbase64 unix_timestamp uuid var_pop var_samp variance"
)
_OPERATORS = frozenset("and or not in between case if like rlike div".split())
FUNCTIONS = tuple(
    sorted({*_OTHERS.split(), *filter(str.isidentifier, map(str.lower, KNOWN))} - _OPERATORS)
)
"""What the driver knows, and what else is asked for most; Spark has more."""
