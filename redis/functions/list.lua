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
