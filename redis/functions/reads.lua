-- What is only read: `list`, `read`, `names`, `pace`, `usage`.

-- Ids of an index by age. KEYS: the index; the one of every status. ARGV: how many, 500 at most; `asc` for the oldest first;
-- the id after which to begin, or '': where it has left the index for another status, its place in time counts, and nothing
-- follows an unknown one. What is no id in length is left out, as in `show_request`.
local ID_LENGTH = 36
local MAX_LIST = 500

-- The rank in an index at which to go on after an id, or nil of an unknown one.
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

register_reader('list', { keys = 2, least = 1, most = 3, bytes = 1024 }, function(keys, args)
  local is_ascending, after = args[2] == 'asc', args[3] or ''
  local start = after == '' and 0 or rank_after(keys, after, is_ascending)
  if not start then
    return {}
  end
  return read_last(keys[1], bound(args[1], MAX_LIST), function(id)
    return #id == ID_LENGTH
  end, { start = start, is_ascending = is_ascending })
end)

-- Reads requests. KEYS: the record of the first. ARGV: namespace, at most 20 ids. Answers with what is shown of each, or nil.
register_reader('read', { least = 2, most = 1 + READ_AT_ONCE, bytes = 4096 }, function(_, args)
  local requests = {}
  for i = 2, #args do
    requests[i - 1] = show_request(args[1], args[i]) or false
  end
  return requests
end)

-- Names of deployments that had requests, the latest first. KEYS: the deployments. ARGV: how many, 200 at most. What is
-- longer than a name is left out.
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

-- What a deployment served in one period. KEYS: the hash of the period. Answers its fields and counters, one after the
-- other; none where there is more than any gateway writes.
local MAX_USAGE_BYTES = 512 * 1024

register_reader('usage', { least = 0, bytes = 1024 }, function(keys)
  return is_short(keys[1], MAX_USAGE_BYTES) and redis.call('HGETALL', keys[1]) or {}
end)
