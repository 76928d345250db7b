-- The newest ids of an index. KEYS: the index. ARGV: how many. What is no id in length is left out, as in `show_request`.
local ID_LENGTH = 36

register_reader('list', function(keys, args)
  local ids = {}
  for _, id in ipairs(redis.call('ZRANGE', keys[1], 0, tonumber(args[1]) - 1, 'REV')) do
    if #id == ID_LENGTH then
      ids[#ids + 1] = id
    end
  end
  return ids
end)
