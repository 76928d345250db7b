-- Names of deployments that had requests, the latest first. KEYS: the deployments. ARGV: how many, 200 at most. What is
-- longer than a name is left out.
local MAX_NAMES = 200
local MAX_NAME_BYTES = 63

register_reader('names', { least = 1, bytes = 1024 }, function(keys, args)
  return read_last(keys[1], bound(args[1], MAX_NAMES), function(name)
    return #name <= MAX_NAME_BYTES
  end)
end)
