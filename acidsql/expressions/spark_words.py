"""The words Spark is given: identifiers, literals, types, casts, and one of these inside of nested
values; and queries that are edited before it reads them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from acidsql.acid.ids import ROW_ID_PARTS
from acidsql.acid.orc_types import ID_FIELDS
from acidsql.catalog.model import Column
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    HiveType,
    MapType,
    StructType,
    VarcharType,
    holds,
)
from acidsql.errors import Span
from acidsql.lazy import dataclass

# ---- texts of queries
#
# The text Spark receives: the user's own words, cut by span, with our pieces between them.
#
# Nothing of a query is ever regenerated from a syntax tree, because that changes meaning; it is
# copied, and only table names, ``*`` beside ROW__ID and the like are replaced. Because every piece
# knows where it came from, a place in Spark's text leads back to a place in the user's.


GIVEN = "acidsql_given_"
"""Begins the name of a column that holds a value before it is stored: ``(value) AS name``."""
_GIVEN_NAME = re.compile(rf"lateralAliasReference\(({GIVEN}\w+)\)|({GIVEN}\w+)")
"""Finds such a name in Spark's messages."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The user's own text."""

    span: Span


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the name of the view of read number ``index`` will stand."""

    index: int


Piece = str | Slice | Slot


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``span`` of the source by ``pieces``; an empty span inserts."""

    span: Span
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class QueryText:
    source: str
    pieces: tuple[Piece, ...]

    @property
    def slots(self) -> frozenset[int]:
        """The numbers of the reads that stand in it."""
        return frozenset(piece.index for piece in self.pieces if isinstance(piece, Slot))

    def render(self, views: Sequence[str]) -> str:
        """The SQL for Spark; ``views[i]`` is the view of read ``i``."""
        return "".join(text for text, _ in self._rendered(views))

    def source_span(self, offset: int, views: Sequence[str]) -> Span | None:
        """The user's place of a character of the rendered text: None where the
        character is ours.
        """
        at = 0
        for text, origin in self._rendered(views):
            if at <= offset < at + len(text):
                if origin is None:
                    return None
                start = (
                    origin.start
                    if origin.end - origin.start != len(text)
                    else origin.start + offset - at
                )
                return Span(start, _word_end(self.source, start))
            at += len(text)
        return None

    def only_span(self, rendered: Span, views: Sequence[str]) -> Span | None:
        """The user's words in a part of the rendered text, or in the value that it calls by a name
        of ours, without the blanks around them; None where they are from several places.
        """
        at, inside = 0, []
        for text, origin in self._rendered(views):
            if origin and text.strip() and at < rendered.end and rendered.start < at + len(text):
                inside.append((text, origin))
            at += len(text)
        if not inside:
            name = _GIVEN_NAME.search(self.render(views)[rendered.start : rendered.end])
            return None if name is None else self._given_span(name[name.lastindex or 0])
        if len(inside) != 1:
            return None
        [(text, origin)] = inside
        start = origin.start + len(text) - len(text.lstrip())
        return Span(start, start + len(text.strip()))

    def in_users_words(self, message: str) -> str:
        """A message of Spark's with the user's words for names that we have given to them."""

        def words(match: re.Match[str]) -> str:
            span = self._given_span(match[match.lastindex or 0])
            return match[0] if span is None else span.cut(self.source)

        return _GIVEN_NAME.sub(words, message)

    def _given_span(self, name: str) -> Span | None:
        """The user's words in front of a name that is given to a value (see GIVEN)."""
        last: int | None = None
        for number, piece in enumerate(self.pieces):
            if isinstance(piece, str) and piece.endswith(f" AS {name}"):
                last = number
        if last is None:
            return None
        first = last
        while first and not (
            isinstance(piece := self.pieces[first - 1], str) and piece[-1:] == "("
        ):
            first -= 1
        return QueryText(self.source, self.pieces[first:last]).whole_span()

    def whole_span(self) -> Span | None:
        """The part of the user's text that holds all his words; None where there are none."""
        spans = [
            p.span for p in self.pieces if isinstance(p, Slice) and p.span.cut(self.source).strip()
        ]
        if not spans:
            return None
        start, end = min(s.start for s in spans), max(s.end for s in spans)
        text = self.source[start:end]
        return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    def end_before(self, offset: int, views: Sequence[str]) -> Span | None:
        """The place behind the user's last words before a character of the rendered text."""
        at, end = 0, None
        for text, origin in self._rendered(views):
            if at > offset:
                break
            if origin is not None:
                end = Span(origin.end, origin.end + 1)
            at += len(text)
        return end

    def _rendered(self, views: Sequence[str]) -> Iterator[tuple[str, Span | None]]:
        for piece in self.pieces:
            match piece:
                case str():
                    yield piece, None
                case Slice(span):
                    yield span.cut(self.source), span
                case Slot(index):
                    yield views[index], None


def edited(span: Span, edits: Iterable[Edit]) -> tuple[Piece, ...]:
    """The slice ``span`` with ``edits`` (all inside it, not overlapping) applied."""
    ordered = sorted(edits, key=lambda e: (e.span.start, e.span.end))
    for before, after in pairwise(ordered):
        assert before.span.end <= after.span.start, (before, after)
    pieces: list[Piece] = []
    at = span.start
    for edit in ordered:
        pieces += [Slice(Span(at, edit.span.start)), *edit.pieces]
        at = edit.span.end
    return (*pieces, Slice(Span(at, span.end)))


def _word_end(source: str, start: int) -> int:
    end = start
    while end < len(source) and (source[end].isalnum() or source[end] in "_$"):
        end += 1
    return max(end, start + 1)


# ---- spark words


# ---- spark words
#
# Expressions we add to the user's text for Spark: Hive's store casts and the three parts of a row's
# identity.


SOURCE_ROW = "acidsql_source_row"
"""Column of a MERGE's pairs: the number of the source's row."""


def identifier(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def spark_type(hive_type: HiveType) -> str:
    """The Spark DDL type that holds it: char and varchar are strings there, cut to length by
    ``store_cast``.
    """
    match hive_type:
        case CharType() | VarcharType():
            return "string"
        case ArrayType(element):
            return f"array<{spark_type(element)}>"
        case MapType(key, value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case StructType(fields):
            return (
                "struct<"
                + ",".join(f"{identifier(f.name)}:{spark_type(f.type)}" for f in fields)
                + ">"
            )
        case _:
            return str(hive_type)


def store_cast(value: tuple[Piece, ...], hive_type: HiveType) -> tuple[Piece, ...]:
    """``value`` as INSERT and UPDATE store it: a cast, and the length of char and varchar applied
    wherever they are nested.
    """
    cast: tuple[Piece, ...] = ("CAST((", *value, f") AS {spark_type(hive_type)})")
    match hive_type:
        case VarcharType(length):
            return ("substring(", *cast, f", 1, {length})")
        case CharType(length):
            return ("rtrim(substring(", *cast, f", 1, {length}))")
        case ArrayType() | MapType() | StructType() if is_limited(hive_type):
            # A lambda gives the value a name: it stands in the text once however often its parts
            # are needed.
            return ("transform(array(", *cast, f"), v -> {_limited('v', hive_type, 0)})[0]")
        case _:
            return cast


def is_limited(hive_type: HiveType) -> bool:
    """Whether a value may have to be cut to be stored as this type: char and varchar, also nested
    ones.
    """
    match hive_type:
        case CharType() | VarcharType():
            return True
        case ArrayType(element):
            return is_limited(element)
        case MapType(key, value):
            return is_limited(key) or is_limited(value)
        case StructType(fields):
            return any(is_limited(f.type) for f in fields)
        case _:
            return False


def _limited(value: str, hive_type: HiveType, depth: int) -> str:
    """The Spark expression ``value`` with too long char and varchar values inside it cut."""
    inner = f"v{depth}"
    match hive_type:
        case VarcharType(length):
            return f"substring({value}, 1, {length})"
        case CharType(length):
            return f"rtrim(substring({value}, 1, {length}))"
        case ArrayType(element) if is_limited(element):
            return f"transform({value}, {inner} -> {_limited(inner, element, depth + 1)})"
        case MapType(key, item) if is_limited(hive_type):
            keys = f"transform(map_keys({value}), {inner} -> {_limited(inner, key, depth + 1)})"
            items = f"transform(map_values({value}), {inner} -> {_limited(inner, item, depth + 1)})"
            return f"map_from_arrays({keys}, {items})"
        case StructType(fields) if is_limited(hive_type):
            parts = (
                f"{text_literal(f.name)},"
                f" {_limited(f'{value}.{identifier(f.name)}', f.type, depth)}"
                for f in fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
        case _:
            return value


def text_literal(text: str) -> str:
    """A Spark string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def row_id_columns(alias: str) -> tuple[Piece, ...]:
    """The identity of a row as three plain columns."""
    parts = zip(ROW_ID_PARTS, ID_FIELDS, strict=True)
    return (", ".join(f"{identifier(alias)}.ROW__ID.{part} AS {name}" for part, name in parts),)


def spark_ddl(columns: Sequence[Column]) -> str:
    """``name type, ..`` for ``spark.read.schema``."""
    return ", ".join(f"{identifier(c.name)} {spark_type(c.type)}" for c in columns)


# ---- the functions that Spark knows by itself


SPARK_FUNCTIONS = frozenset(
    """
    abs acos acosh add_months aes_decrypt aes_encrypt aggregate and any any_value
    approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine approx_top_k_estimate array array_agg array_append array_compact
    array_contains array_distinct array_except array_insert array_intersect array_join array_max
    array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh avg base64
    between bigint bin binary bit_and bit_count bit_get bit_length bit_or bit_xor bitmap_and_agg
    bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg
    bool_and bool_or boolean bround btrim cardinality case cast cbrt ceil ceiling char char_length
    character_length chr coalesce collate collation collations collect_list collect_set
    collect_union concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if
    count_min_sketch counter_diff covar_pop covar_samp crc32 csc cume_dist curdate current_catalog
    current_database current_date current_path current_schema current_time current_timestamp
    current_timezone current_user date date_add date_diff date_format date_from_unix_date date_part
    date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal
    decode degrees dense_rank div double e element_at elt encode endswith equal_null every exists
    exp explode explode_outer expm1 extract factorial filter find_in_set first first_value flatten
    float floor forall format_number format_string from_avro from_base32 from_csv from_json
    from_protobuf from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest
    grouping grouping_id hash hex histogram_numeric hll_sketch_agg hll_sketch_estimate hll_union
    hll_union_agg hmac hour hypot if ifnull ilike in initcap inline inline_outer
    input_file_block_length input_file_block_start input_file_name instr int is_valid_utf8
    is_valid_variant is_variant_null isnan isnotnull isnull jaro_winkler_similarity java_method
    json_array_length json_object_keys json_tuple kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float kurtosis lag
    last last_day last_value lcase lead least left len length levenshtein like listagg ln localtime
    localtimestamp locate log log10 log1p log2 lower lpad ltrim luhn_check make_date
    make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter
    map_from_arrays map_from_entries map_keys map_values map_zip_with mask max max_by md5 mean
    measure median min min_by minute mod mode monotonically_increasing_id month monthname
    months_between named_struct nanvl negative next_day not now nth_value ntile nullif nullifzero
    nvl nvl2 octet_length or overlay parse_json parse_url percent_rank percentile percentile_approx
    percentile_cont percentile_disc pi pmod posexplode posexplode_outer position positive pow power
    printf python_worker_logs quarter quote radians raise_error rand randn random randstr range rank
    reduce reflect regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy repeat replace reverse right rint rlike round row_number rpad rtrim
    schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg
    schema_of_xml sec second sentences sequence session_user session_window sha sha1 sha2 shiftleft
    shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice smallint some
    sort_array soundex space spark_partition_id split split_part sql_keywords sqrt st_asbinary
    st_geogfromwkb st_geomfromwkb st_setsrid st_srid stack startswith std stddev stddev_pop
    stddev_samp str_to_map string string_agg struct substr substring substring_index sum tan tanh
    theta_difference theta_intersection theta_intersection_agg theta_sketch_agg
    theta_sketch_estimate theta_union theta_union_agg time time_bucket time_diff time_from_micros
    time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc
    timestamp timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds tinyint to_avro
    to_base32 to_binary to_char to_csv to_date to_json to_number to_protobuf to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
    to_variant_object to_xml transform transform_keys transform_values translate trim trunc try_add
    try_aes_decrypt try_avg try_divide try_element_at try_make_interval try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url
    try_reflect try_subtract try_sum try_to_binary try_to_date try_to_number try_to_time
    try_to_timestamp try_url_decode try_validate_utf8 try_variant_array_append try_variant_get
    try_variant_insert try_variant_set tuple_difference_double tuple_difference_integer
    tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer
    tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
    tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
    tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer tuple_union_double
    tuple_union_integer tuple_union_theta_double tuple_union_theta_integer typeof ucase unbase64
    unhex uniform unix_date unix_micros unix_millis unix_nanos unix_seconds unix_timestamp upper
    url_decode url_encode user uuid validate_utf8 var_pop var_samp variance variant_array_append
    variant_delete variant_explode variant_explode_outer variant_get variant_insert variant_set
    variant_strip_nulls vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance
    vector_norm vector_normalize vector_sum version weekday weekofyear when width_bucket window
    window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
    xpath_short xpath_string xxhash64 year zeroifnull zip_with
    """.split()
)
SPECIAL = frozenset(
    "identifier try_cast timestampadd timestampdiff date_diff datediff dateadd values".split()
)
"""What its grammar knows, and its list of functions does not have."""


def is_function(name: str) -> bool:
    """Whether Spark has it, without one that somebody has given it."""
    return name.lower() in SPARK_FUNCTIONS or name.lower() in SPECIAL


def nearest_function(name: str) -> str | None:
    """The function whose name is most like this one."""
    near = difflib.get_close_matches(name.lower(), sorted(SPARK_FUNCTIONS), n=1, cutoff=0.7)
    return near[0] if near else None


# ---- nested words
#
# Spark SQL that makes other values of a column, wherever they are inside lists, maps and structs.
# NULL stays NULL.


Changes = Callable[[HiveType], bool]
MakeValue = Callable[[str, HiveType], str]


def nested_sql(
    expression: str,
    hive_type: HiveType,
    changes: Changes,
    value: MakeValue,
    key: MakeValue | None = None,
) -> str:
    """The new value of a Spark SQL expression (repeated in the result: a mere column); itself
    where nothing changes. ``value`` gives the SQL of a simple value whose type ``changes``, and
    ``key`` that of a map's key where the map's type does.
    """
    return _Walk(changes, value, key).sql(expression, hive_type, 0)


class _Walk:
    def __init__(self, changes: Changes, value: MakeValue, key: MakeValue | None) -> None:
        self._changes = changes
        self._value = value
        self._key = key

    def sql(self, expression: str, hive_type: HiveType, depth: int) -> str:
        if not holds(hive_type, self._changes):
            return expression
        match hive_type:
            case ArrayType(element):
                return self.items(expression, element, depth)
            case MapType(key, value):
                keys, values = f"map_keys({expression})", f"map_values({expression})"
                if self._key is not None and self._changes(hive_type):
                    new_keys = f"transform({keys}, k -> {self._key('k', key)})"
                else:
                    new_keys = self.items(keys, key, depth)
                return f"map_from_arrays({new_keys}, {self.items(values, value, depth)})"
            case StructType(fields):
                children = (
                    self.sql(f"{expression}.{identifier(f.name)}", f.type, depth) for f in fields
                )
                parts = [
                    f"'{_text(f.name)}', {child}" for f, child in zip(fields, children, strict=True)
                ]
                struct = f"named_struct({', '.join(parts)})"
                return f"CASE WHEN {expression} IS NOT NULL THEN {struct} END"
            case _:
                return self._value(expression, hive_type)

    def items(self, array: str, hive_type: HiveType, depth: int) -> str:
        if not holds(hive_type, self._changes):
            return array
        item = f"x{depth}"
        return f"transform({array}, {item} -> {self.sql(item, hive_type, depth + 1)})"


def _text(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
