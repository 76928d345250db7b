-- Ids of an index by age. KEYS: the index. ARGV: how many, 500 at most; `asc` for the oldest first; the id after which to
-- begin, or '': nothing follows one that is not there. What is no id in length is left out, as in `show_request`.
local ID_LENGTH = 36
local MAX_LIST = 500

register_reader('list', { least = 1, most = 3, bytes = 1024 }, function(keys, args)
  local is_ascending, after = args[2] == 'asc', args[3] or ''
  local start = 0
  if after ~= '' then
    local rank = redis.call('ZRANK', keys[1], after)
    if not rank then
      return {}
    end
    start = is_ascending and rank + 1 or redis.call('ZCARD', keys[1]) - rank
  end
  return read_last(keys[1], bound(args[1], MAX_LIST), function(id)
    return #id == ID_LENGTH
  end, { start = start, is_ascending = is_ascending })
end)
