-- Reads: `list`, `search`, `read`, `names`, `pace`, `usage`.

local ID_LENGTH = 36
local MAX_LIST = 500

-- The rank in an index at which to continue after an id, or nil if unknown.
local function rank_after(keys, after, is_ascending)
  local rank = redis.call('ZRANK', keys[1], after)
  if rank then
    return is_ascending and rank + 1 or redis.call('ZCARD', keys[1]) - rank
  end
  local score = keys[2] and redis.call('ZSCORE', keys[2], after)
  if not score then
    return nil
  end
  return is_ascending and redis.call('ZCOUNT', keys[1], '-inf', score) or redis.call('ZCOUNT', keys[1], score, '+inf')
end

-- Which ranks to read of an index: those after an id, of times (Unix microseconds as text, '' = open) from `since` to before
-- `before`, at most `limit`; nil after an unknown id. Counting by time is as fast as finding a rank.
local function find_range(keys, query)
  local start = query.after == '' and 0 or rank_after(keys, query.after, query.is_ascending)
  if not start then
    return nil
  end
  local earlier = query.since == '' and 0 or redis.call('ZCOUNT', keys[1], '-inf', '(' .. query.since)
  local later = query.before == '' and 0 or redis.call('ZCOUNT', keys[1], query.before, '+inf')
  local skipped, left = later, earlier
  if query.is_ascending then
    skipped, left = earlier, later
  end
  start = math.max(start, skipped)
  return {
    start = start, is_ascending = query.is_ascending,
    limit = left == 0 and query.limit or math.max(0, math.min(query.limit, redis.call('ZCARD', keys[1]) - left - start)),
  }
end

local function is_time(text)
  return #text <= MAX_NUMBER_BYTES and string.match(text, '^%d*$')
end

local function refuse_times()
  return redis.error_reply('ERR Times are whole numbers')
end

-- Ids of an index by age. KEYS: the index; the one of every status. ARGV: how many, 500 at most; `asc` for the oldest first;
-- the id after which to start, or '': if it has left the index for another status, its time counts, and nothing
-- follows an unknown one; times as `find_range` takes them. What is no id in length is left out, as in `show_request`.
register_reader('list', { keys = 2, least = 1, most = 5, bytes = 1024 }, function(keys, args)
  local since, before = args[4] or '', args[5] or ''
  if not (is_time(since) and is_time(before)) then
    return refuse_times()
  end
  local range = find_range(keys, {
    after = args[3] or '', since = since, before = before, is_ascending = args[2] == 'asc',
    limit = bound(args[1], MAX_LIST),
  })
  return range and read_last(keys[1], range.limit, function(id)
    return #id == ID_LENGTH
  end, range) or {}
end)

-- Searches for requests of some submitters, newest first, in small steps. KEYS: the index; the one of every status. ARGV:
-- namespace, how many to find, the id after which to begin, or '', times as `find_range` takes them, then names of API keys
-- and digits of their hashes. Returns the last id that was examined and its time, both '' where none is left, then those found.
local MAX_SEARCHED = 100
local MAX_SUBMITTERS = 200
local SUBMITTER_FIELDS = { 'api_key', 'key_name' }

local function is_submitted_by(namespace, id, submitters)
  local key = work_key(namespace, 'request:', id)
  for _, field in ipairs(SUBMITTER_FIELDS) do
    if redis.call('HSTRLEN', key, field) <= MAX_FIELD_BYTES and submitters[redis.call('HGET', key, field)] then
      return true
    end
  end
  return false
end

register_reader('search', { keys = 2, least = 6, most = 5 + MAX_SUBMITTERS, bytes = 64 * 1024 }, function(keys, args)
  local namespace, limit, since, before = args[1], bound(args[2], MAX_SEARCHED), args[4], args[5]
  if not (is_time(since) and is_time(before)) then
    return refuse_times()
  end
  local range = find_range(keys, { after = args[3], since = since, before = before, limit = MAX_SEARCHED })
  local submitters = {}
  for i = 6, #args do
    submitters[args[i]] = true
  end
  local last, looked, found = '', 0, 0
  local ids = range and limit > 0 and read_last(keys[1], range.limit, function(id)
    if found == limit then
      return false
    end
    looked = looked + 1
    if #id ~= ID_LENGTH then
      return false
    end
    last = id
    local is_found = is_submitted_by(namespace, id, submitters)
    found = found + (is_found and 1 or 0)
    return is_found
  end, range) or {}
  local is_last = looked < MAX_SEARCHED and found < limit
  local answer = is_last and { '', '' } or { last, last ~= '' and redis.call('ZSCORE', keys[1], last) or '' }
  for i = 1, #ids do
    answer[i + 2] = ids[i]
  end
  return answer
end)

-- Reads requests. KEYS: the record of the first. ARGV: namespace, at most 20 ids. Returns the shown part of each, or nil.
register_reader('read', { least = 2, most = 1 + READ_AT_ONCE, bytes = 4096 }, function(_, args)
  local requests = {}
  for i = 2, #args do
    requests[i - 1] = show_request(args[1], args[i]) or false
  end
  return requests
end)

-- Names of deployments that had requests, the latest first. KEYS: the deployments. ARGV: how many, 200 at most. What is
-- longer than a name is omitted.
local MAX_NAMES = 200
local MAX_NAME_BYTES = 63

register_reader('names', { least = 1, bytes = 1024 }, function(keys, args)
  return read_last(keys[1], bound(args[1], MAX_NAMES), function(name)
    return #name <= MAX_NAME_BYTES
  end)
end)

-- The average milliseconds of a deployment's jobs, as text; nil before the first. KEYS: the pace.
local MAX_DIGITS = 20

register_reader('pace', { least = 0, bytes = 1024 }, function(keys)
  local average = redis.call('HGET', keys[1], 'average_ms')
  return average and #average <= MAX_DIGITS and average
end)

-- A deployment's usage in one period. KEYS: the hash of the period. Returns its fields and counters,
-- alternating; none if there is more than any gateway writes.
local MAX_USAGE_BYTES = 512 * 1024

register_reader('usage', { least = 0, bytes = 1024 }, function(keys)
  return is_short(keys[1], MAX_USAGE_BYTES) and redis.call('HGETALL', keys[1]) or {}
end)
