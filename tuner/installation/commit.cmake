# Writes OUTPUT, a header with the commit of SOURCE_FOLDER. Run at each build; the file is touched only where the commit
# changed, so that an unchanged tree rebuilds nothing.
set(commit "unknown")
find_program(git git)
if(git AND EXISTS ${SOURCE_FOLDER}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE_FOLDER} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit ${head})
    execute_process(COMMAND ${git} -C ${SOURCE_FOLDER} --no-optional-locks diff-index --quiet HEAD --
      ERROR_QUIET RESULT_VARIABLE changed)
    if(changed)
      string(APPEND commit "-dirty")
    endif()
  endif()
endif()
set(text "#pragma once\n#define NOCTURNE_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
