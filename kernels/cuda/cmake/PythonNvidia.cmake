# Where NVIDIA's packages from PyPI lie: a folder `nvidia` below .deps/cuda, the active virtual environment, or what the python3
# on PATH reads.
include_guard(GLOBAL)

# python_nvidia_folders(RESULT): those that exist, in this order.
function(python_nvidia_folders result)
  set(found)
  cmake_path(SET deps NORMALIZE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../.deps/cuda/nvidia)
  set(candidates ${deps})
  if(DEFINED ENV{VIRTUAL_ENV})
    file(GLOB own $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia)
    list(APPEND candidates ${own})
  endif()
  find_program(NOCTURNE_PYTHON python3)
  mark_as_advanced(NOCTURNE_PYTHON)
  if(NOCTURNE_PYTHON)
    execute_process(COMMAND ${NOCTURNE_PYTHON} -c "import sys; print(';'.join(p + '/nvidia' for p in sys.path if p))"
      OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND candidates ${folders})
  endif()
  foreach(folder IN LISTS candidates)
    if(IS_DIRECTORY ${folder} AND NOT folder IN_LIST found)
      list(APPEND found ${folder})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()
