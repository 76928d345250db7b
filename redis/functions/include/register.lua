--- @include "memory"
-- Registers functions with the signatures of redis/function-table.ts: flags by their kind, and bounds of their arguments, since
-- a tenant may call them with any.
local FLAGS = { reads = { 'no-writes' }, begins = {}, bounded = { 'allow-oom' }, ends = { 'allow-oom' } }

-- Bytes of all arguments, or nil if they are more or longer than our programs send.
local function measure(keys, args, signature)
  if #keys > signature.keys or #args < signature.least or #args > signature.most then
    return nil
  end
  local bytes = 0
  for i = 1, #keys do
    bytes = bytes + #keys[i]
  end
  for i = 1, #args do
    bytes = bytes + #args[i]
  end
  return bytes <= signature.bytes and bytes or nil
end

-- Calls back with the keys and the arguments of the signature; where it has `rest`, with all arguments in between.
local function register(name, callback)
  local signature = SIGNATURES[name]
  local takes_reserve, has_rest, fixed = signature.kind == 'ends', signature.each > 0, signature.fixed
  redis.register_function({
    function_name = LIBRARY .. '_' .. name, flags = FLAGS[signature.kind],
    callback = function(keys, args)
      local bytes = measure(keys, args, signature)
      if not bytes then
        return redis.error_reply('ERR Too many, too few or too long arguments')
      end
      if takes_reserve and is_reserve_used(bytes) then
        return redis.error_reply('OOM The memory that is kept for requests that end is used up')
      end
      if has_rest then
        return callback(keys, args, unpack(args, 1, fixed))
      end
      return callback(keys, unpack(args))
    end,
  })
end
