# Areas of the texts t0, t1, ... of pictures, as librsvg lays them out.
import ctypes
import json
import sys

svg = ctypes.CDLL("librsvg-2.so.2")


class Rectangle(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in "xywh"]


svg.rsvg_handle_new_from_data.restype = ctypes.c_void_p
svg.rsvg_handle_new_from_data.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
svg.rsvg_handle_get_geometry_for_layer.restype = ctypes.c_int
svg.rsvg_handle_get_geometry_for_layer.argtypes = [
    ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Rectangle), ctypes.POINTER(Rectangle),
    ctypes.POINTER(Rectangle), ctypes.c_void_p]
svg.rsvg_handle_get_intrinsic_size_in_pixels.argtypes = [
    ctypes.c_void_p, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double)]

answer = []
for text in json.load(sys.stdin):
    data = text.encode()
    handle = svg.rsvg_handle_new_from_data(data, len(data), None)
    if not handle:
        sys.exit("a picture is refused")
    w, h = ctypes.c_double(), ctypes.c_double()
    svg.rsvg_handle_get_intrinsic_size_in_pixels(handle, w, h)
    page = Rectangle(0, 0, w.value, h.value)
    areas = []
    for at in range(text.count("<text ")):
        ink, logical = Rectangle(), Rectangle()
        if not svg.rsvg_handle_get_geometry_for_layer(handle, f"#t{at}".encode(), page, ink, logical, None):
            sys.exit(f"text {at} has no geometry")
        areas.append({"x": logical.x, "y": logical.y, "w": logical.w, "h": logical.h})
    answer.append(areas)
json.dump(answer, sys.stdout)
